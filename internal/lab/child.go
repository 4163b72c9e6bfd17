package lab

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// watcherScript waits for a line on its standard input. If the input ends
// without a line, the parent has died, and the script kills the process group $1.
// SIGKILL, because no other signal ends what is starting or suspended.
const watcherScript = `read -r line || kill -s KILL -- "-$1"`

// StartChild starts cmd in a process group of its own, which is killed when this process
// ends. Call stopWatch after cmd has ended.
//
// A shell does so. It reads a pipe from this process, which the kernel closes even if this
// process is killed. Linux's death signal would spare the child's children.
func StartChild(cmd *exec.Cmd) (stopWatch func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if stopWatch, err = watchParent(watcherScript, strconv.Itoa(cmd.Process.Pid)); err != nil {
		_ = cmd.Process.Kill()
		return nil, errors.Join(err, cmd.Wait())
	}
	return stopWatch, nil
}

// watchParent starts a shell that runs a script with an argument. stop ends it.
func watchParent(script, arg string) (stop func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", script, "sh", arg)
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
