package clients

import (
	"context"
	"encoding/gob"
	"errors"
	"os"
	"os/exec"
	"slices"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A Process is clients in a process of their own, which has open files of its own.
type Process struct {
	cmd *exec.Cmd
	in  *gob.Encoder
	out *gob.Decoder
}

// Start starts a process for l. Its connections are open when Start returns.
func Start(ctx context.Context, l Load) (*Process, error) {
	path, err := rig.Binary("loadtest")
	if err != nil {
		return nil, err
	}
	command := append(slices.Clone(l.Under), path, "clients")
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		return nil, err
	}
	p := &Process{cmd, gob.NewEncoder(in), gob.NewDecoder(out)}
	var connected bool
	if err := errors.Join(p.in.Encode(l), p.out.Decode(&connected)); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

// Run has the clients claim from the moment on, and ends the process.
func (p *Process) Run(moment time.Time) (results []Result, err error) {
	err = errors.Join(p.in.Encode(moment), p.out.Decode(&results))
	return results, errors.Join(err, p.cmd.Wait())
}

// Kill ends the process.
func (p *Process) Kill() error {
	err := p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
	return err
}

// Serve is what such a process does.
func Serve(ctx context.Context) error {
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	var l Load
	if err := in.Decode(&l); err != nil {
		return err
	}
	c, err := l.connect(ctx)
	if err != nil {
		return err
	}
	var moment time.Time
	if err := errors.Join(out.Encode(true), in.Decode(&moment)); err != nil {
		return err
	}
	time.Sleep(time.Until(moment))
	results, err := c.run(ctx)
	return errors.Join(out.Encode(results), err)
}
