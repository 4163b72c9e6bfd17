//go:build !linux

package generator

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// newSocket returns a socket that does not block.
func newSocket() (fd int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); err != nil {
		return 0, err
	}
	unix.CloseOnExec(fd)
	return fd, unix.SetNonblock(fd, true)
}

// bind leaves the choice of an address to the system.
func bind(int, int, [4]byte) error { return nil }

// receive reads into b. The time is that of the call.
func receive(fd int, b []byte) (n int, arrived time.Time, err error) {
	n, err = unix.Read(fd, b)
	return n, time.Now(), err
}

// sleepPrecisely sleeps as precisely as Go does.
func sleepPrecisely(d time.Duration) { time.Sleep(d) }

func newPoller() (poller, error) { return &pollList{}, nil }
