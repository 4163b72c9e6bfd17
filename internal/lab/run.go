package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Run runs p, with its output in its log, and returns when it has ended. Run
// does not use p.Ready. The process is killed when ctx or this process ends.
// The error for an exit status other than zero wraps an *exec.ExitError and
// includes the end of the log.
func Run(ctx context.Context, p Program) error {
	log, err := os.Create(p.log())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, log, log
	cmd.Env = append(os.Environ(), p.Env...)
	stopWatch, err := StartChild(cmd)
	if err != nil {
		return fmt.Errorf("lab: start %s: %w", p.Name, err)
	}
	defer stopWatch()
	if err := cmd.Wait(); err != nil {
		return errors.Join(fmt.Errorf("lab: %s: %w: %s", p.Name, err, tail(p.log())), ctx.Err())
	}
	return nil
}
