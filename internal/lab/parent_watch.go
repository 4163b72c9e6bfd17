package lab

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// watcherScript waits for a line on its standard input. If the input ends
// without a line, the parent has died, and the script sends signal $1 to the
// process group $2.
const watcherScript = `read -r line || kill -s "$1" -- "-$2"`

// parentWatch starts a shell that sends sig to the process group of pid when
// this process ends. The shell reads a pipe from this process, which the
// kernel closes even if this process is killed. stop ends the shell; call it
// after the child has ended.
func parentWatch(pid int, sig syscall.Signal) (stop func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", watcherScript, "sh", fmt.Sprint(int(sig)), fmt.Sprint(pid))
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C at the terminal must not reach it
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return nil, err
	}
	return func() {
		_, _ = w.WriteString("\n")
		_ = w.Close()
		_ = cmd.Wait()
	}, nil
}
