package shop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"example.com/flashsale/internal/lab"
)

// run runs a command of the file with the shell, and returns what it prints. The
// values are in its environment: STOCK, COUPON. It ends with ctx, and with this process.
func run(ctx context.Context, command string, v Values) ([]byte, error) {
	cmd := exec.Command("/bin/sh", "-c", command)
	var out, problems bytes.Buffer
	cmd.Env = append(os.Environ(), v.environment()...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &problems, time.Second // a server that it starts may keep both open
	stopWatch, err := lab.StartChild(cmd)
	if err != nil {
		return nil, err
	}
	defer stopWatch()
	end := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) })
	defer end()
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 0 {
		said := bytes.TrimSpace(problems.Bytes()) // at the end it says what is wrong
		return nil, fmt.Errorf("%s: %w: %s", command, err, said[max(0, len(said)-500):])
	}
	return out.Bytes(), ctx.Err()
}

// environment returns the values as variables: STOCK=1.
func (v Values) environment() (variables []string) {
	for name, value := range v {
		variables = append(variables, strings.ToUpper(name)+"="+value)
	}
	return variables
}
