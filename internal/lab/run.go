package lab

import (
	"context"
	"errors"
	"fmt"
)

// Run runs p, with its output in its log, and returns when it has ended. Run
// does not use p.Ready. The process is killed when ctx or this process ends.
// The error for an exit status other than zero wraps an *exec.ExitError and
// includes the end of the log.
func Run(ctx context.Context, p Program) error {
	cmd, stopWatch, err := p.spawn(ctx)
	if err != nil {
		return err
	}
	defer stopWatch()
	if err := cmd.Wait(); err != nil {
		return errors.Join(fmt.Errorf("lab: %s: %w: %s", p.Name, err, tail(p.log())), ctx.Err())
	}
	return nil
}
