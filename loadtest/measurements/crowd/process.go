package crowd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// perProcess is how many clients a process has. A process may be limited to
// 20,000 open files or fewer.
const perProcess = 10_000

// A share is what one process of clients has to do.
type share struct {
	Address      string
	Coupon       string
	Headers      rig.Headers
	First, Count int // users
}

// RunClients is a process of clients. It reads its share from stdin, connects,
// says so on stdout, reads the moment, and writes the outcomes to stdout.
func RunClients(ctx context.Context) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var s share
	if err := in.Decode(&s); err != nil {
		return err
	}
	users, err := s.Headers.Open()
	if err != nil {
		return err
	}
	clients, err := Connect(ctx, s.Address, s.Count, func(b []byte, n int) []byte {
		return generator.AppendClaim(b, s.Address, s.Coupon, users.Headers(s.First+n))
	})
	if err != nil {
		return err
	}
	var moment time.Time
	if err := errors.Join(out.Encode(s.Count), in.Decode(&moment)); err != nil {
		return err
	}
	return errors.Join(out.Encode(clients.Fire(ctx, moment)), ctx.Err())
}

// startProcess starts a process of clients, which are connected when it returns.
func startProcess(ctx context.Context, s share) (*generator.Process, error) {
	p, err := generator.StartProcess(ctx, "crowd-clients")
	if err != nil {
		return nil, err
	}
	var connected int
	return p, errors.Join(p.Send(s), p.Receive(&connected))
}

// startProcesses divides s among processes.
func startProcesses(ctx context.Context, s share) ([]*generator.Process, error) {
	processes := make([]*generator.Process, (s.Count+perProcess-1)/perProcess)
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

// fire has the users of s claim at one moment, each on a connection of its own
// that is open before.
func fire(ctx context.Context, s share) ([]Outcome, error) {
	begin := time.Now()
	processes, err := startProcesses(ctx, s)
	if err != nil {
		return nil, err
	}
	if took := time.Since(begin); took > connectTime {
		for _, p := range processes {
			err = errors.Join(err, p.Kill())
		}
		return nil, errors.Join(fmt.Errorf("%w: it took %s", errSlow, took), err)
	}
	moment := time.Now().Add(lead)
	shares := make([][]Outcome, len(processes))
	var group errgroup.Group
	for i, p := range processes {
		group.Go(func() error { return errors.Join(p.Send(moment), p.Receive(&shares[i]), p.Wait()) })
	}
	err = group.Wait()
	return slices.Concat(shares...), err
}
