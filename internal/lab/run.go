package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Run runs p to its end, with its output in its log; p's Ready is not used.
// It dies with this process, and with ctx. An exit status other than zero is
// an *exec.ExitError, wrapped with the end of the log.
func Run(ctx context.Context, p Program) error {
	log, err := os.Create(p.log())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, log, log
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.SysProcAttr = mortal(syscall.SIGKILL)
	untie, err := spawn(cmd, syscall.SIGKILL)
	if err != nil {
		return fmt.Errorf("lab: start %s: %w", p.Name, err)
	}
	defer untie()
	if err := cmd.Wait(); err != nil {
		return errors.Join(fmt.Errorf("lab: %s: %w: %s", p.Name, err, tail(p.log())), ctx.Err())
	}
	return nil
}
