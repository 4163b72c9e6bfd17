package crowd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/loadtest/rig"
)

// perProcess is how many clients a process has. A process may be limited to
// 20,000 open files or fewer.
const perProcess = 10_000

// A share is what one process of clients has to do.
type share struct {
	Address, Coupon, Secret string
	First, Count            int // users
}

// RunClients is a process of clients. It reads its share from stdin, connects,
// says so on stdout, reads the moment, and writes the outcomes to stdout.
func RunClients(ctx context.Context) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var s share
	if err := in.Decode(&s); err != nil {
		return err
	}
	clients, err := Connect(ctx, s.Address, s.requests())
	if err != nil {
		return err
	}
	var moment time.Time
	if err := errors.Join(out.Encode(s.Count), in.Decode(&moment)); err != nil {
		return err
	}
	var outcomes []Outcome
	for _, r := range clients.Fire(moment) {
		outcomes = append(outcomes, r.Outcome())
	}
	return out.Encode(outcomes)
}

// requests returns the claims of the users of s.
func (s share) requests() [][]byte {
	signer := rig.TokenSigner(s.Secret)
	var requests [][]byte
	for i := range s.Count {
		requests = append(requests, Request(s.Coupon, s.Address, signer.User(rig.UserID(s.First+i))))
	}
	return requests
}

// Request returns the bytes of a claim.
func Request(coupon, host, token string) []byte {
	return fmt.Appendf(nil, "POST /coupons/%s/orders HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 0\r\n\r\n", coupon, host, token)
}

// A process is a running RunClients.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// startProcess starts a process of clients, which are connected when it returns.
func startProcess(ctx context.Context, s share) (*process, error) {
	path, err := rig.Binary("loadtest")
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, path, "crowd-clients")}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = json.NewDecoder(bufio.NewReader(out))
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	var connected int
	return p, errors.Join(json.NewEncoder(p.in).Encode(s), p.out.Decode(&connected))
}

// fire has the process fire at the moment, and returns the outcomes.
func (p *process) fire(moment time.Time) (outcomes []Outcome, err error) {
	err = errors.Join(json.NewEncoder(p.in).Encode(moment), p.out.Decode(&outcomes))
	return outcomes, errors.Join(err, p.cmd.Wait())
}

// startProcesses divides s among processes.
func startProcesses(ctx context.Context, s share) ([]*process, error) {
	processes := make([]*process, (s.Count+perProcess-1)/perProcess)
	var group errgroup.Group
	for i := range processes {
		part := s
		part.First = i * perProcess
		part.Count = min(perProcess, s.Count-part.First)
		group.Go(func() (err error) {
			processes[i], err = startProcess(ctx, part)
			return err
		})
	}
	return processes, group.Wait()
}

// connectTime is how long connecting may take. nginx closes a connection without a
// request after 10 s (client_header_timeout).
const connectTime = 8 * time.Second

// errSlow reports that connecting took longer than connectTime, on a machine that
// is busy with other programs.
var errSlow = errors.New("connecting took too long")

// lead is the time from the last connection to the moment.
const lead = 500 * time.Millisecond

// fire has n users claim the coupon at one moment, each on a connection of its own
// that is open before.
func fire(ctx context.Context, address, coupon, secret string, n int) ([]Outcome, error) {
	begin := time.Now()
	processes, err := startProcesses(ctx, share{address, coupon, secret, 0, n})
	if err != nil {
		return nil, err
	}
	if took := time.Since(begin); took > connectTime {
		for _, p := range processes {
			err = errors.Join(err, p.cmd.Process.Kill())
			_ = p.cmd.Wait()
		}
		return nil, errors.Join(fmt.Errorf("%w: it took %s", errSlow, took), err)
	}
	moment := time.Now().Add(lead)
	shares := make([][]Outcome, len(processes))
	var group errgroup.Group
	for i, p := range processes {
		group.Go(func() (err error) {
			shares[i], err = p.fire(moment)
			return err
		})
	}
	err = group.Wait()
	var all []Outcome
	for _, s := range shares {
		all = append(all, s...)
	}
	return all, err
}
