package lab

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// watcher waits for the end of its standard input. A line on it means that
// all is well; the end without one, that whoever held the other end is gone.
const watcher = `read -r line || kill -s "$1" -- "-$2"`

// tie lets a small shell send sig to the process group of pid when this
// process ends in whatever way, which closes the pipe. Calling untie, once the
// child has ended, sends the shell home.
func tie(pid int, sig syscall.Signal) (untie func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", watcher, "sh", fmt.Sprint(int(sig)), fmt.Sprint(pid))
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C at the terminal is not for it
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
