package generator

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"

	"example.com/flashsale/loadtest/rig"
)

// A Process is a command of this program in a process of its own, which has open
// files and a priority of its own. It reads and writes JSON values.
type Process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// StartProcess starts a command of bin/loadtest.
func StartProcess(ctx context.Context, command string) (*Process, error) {
	path, err := rig.Binary("loadtest")
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.CommandContext(ctx, path, command)}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = json.NewDecoder(bufio.NewReader(out))
	return p, p.cmd.Start()
}

// LowerPriority leaves the process the CPU time that no other wants.
func (p *Process) LowerPriority() error { return rig.LowerPriority(p.cmd.Process.Pid) }

// Send writes v to the process.
func (p *Process) Send(v any) error { return json.NewEncoder(p.in).Encode(v) }

// Receive reads v from the process.
func (p *Process) Receive(v any) error { return p.out.Decode(v) }

// Wait waits until the process has ended.
func (p *Process) Wait() error { return p.cmd.Wait() }

// Kill ends the process.
func (p *Process) Kill() error {
	err := p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
	return err
}
