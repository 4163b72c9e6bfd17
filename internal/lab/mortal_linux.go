package lab

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// mortal makes the kernel send sig to the child when its starter dies.
func mortal(sig syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: sig, Setpgid: true}
}

// tied says whether a child needs a watcher as well.
const tied = false

// awaitStop returns when the child pid has stopped or ended. The kernel says
// so to the parent once the last thread has; the signal alone only begins it.
func awaitStop(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
