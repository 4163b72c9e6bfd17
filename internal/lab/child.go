package lab

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// StartChild starts cmd, which gets sig when this process ends. Call stopWatch
// after cmd has ended.
//
// On Linux a child's death signal follows the thread that started the child,
// not the process (golang/go#27505), so one goroutine starts all children on a
// thread that never ends.
func StartChild(cmd *exec.Cmd, sig syscall.Signal) (stopWatch func(), err error) {
	cmd.SysProcAttr = pdeathsig(sig)
	starterOnce.Do(func() { go runStarts() })
	done := make(chan error)
	starts <- func() { done <- cmd.Start() }
	if err := <-done; err != nil || !needsParentWatch {
		return func() {}, err
	}
	stopWatch, err = parentWatch(cmd.Process.Pid, sig)
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, errors.Join(err, cmd.Wait())
	}
	return stopWatch, nil
}

var (
	starterOnce sync.Once
	starts      = make(chan func())
)

func runStarts() {
	runtime.LockOSThread()
	for start := range starts {
		start()
	}
}
