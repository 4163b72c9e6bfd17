package generator

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newSocket returns a socket that does not block and that knows when its packets
// have arrived.
func newSocket() (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, err
	}
	return fd, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
}

// bind gives the n-th connection to a loopback address one of several loopback
// addresses: one has ports for 28,000 connections only.
func bind(fd, n int, to [4]byte) error {
	if to[0] != 127 {
		return nil
	}
	return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, byte(2 + n%100)}})
}

// receive reads into b. It also returns when the bytes arrived at the socket, since
// when the process may have waited for CPU. Linux stamps no packets in the first
// moment after a socket has asked for it: their time is that of the call.
func receive(fd int, b []byte) (n int, arrived time.Time, err error) {
	var control [64]byte
	n, size, _, _, err := unix.Recvmsg(fd, b, control[:], 0)
	arrived = time.Now()
	if size > 0 {
		if header, data, _, err := unix.ParseOneSocketControlMessage(control[:size]); err == nil &&
			header.Type == unix.SCM_TIMESTAMPNS {
			arrived = time.Unix((*unix.Timespec)(unsafe.Pointer(&data[0])).Unix())
		}
	}
	return n, arrived, err
}

// sleepPrecisely sleeps in the kernel, on a thread of its own. Go's timers have a
// resolution of a millisecond in an idle process.
func sleepPrecisely(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}
