package lab

import (
	"errors"

	"golang.org/x/sys/unix"
)

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
