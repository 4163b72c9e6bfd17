package lab

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// pdeathsig returns the attributes of a child to which the kernel sends sig
// when the thread that started it ends (PR_SET_PDEATHSIG).
func pdeathsig(sig syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: sig, Setpgid: true}
}

// needsParentWatch reports whether a child needs parentWatch as well.
const needsParentWatch = false

// awaitStop returns when the child pid has stopped or ended. The signal only
// begins the stop; the kernel reports it to the parent after the last thread
// has stopped.
func awaitStop(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
