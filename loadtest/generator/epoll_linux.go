package generator

import "golang.org/x/sys/unix"

// An epoll is the poller of Linux.
type epoll struct {
	fd     int
	events [256]unix.EpollEvent
	ready  []int
}

func newPoller() (poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return &epoll{fd: fd}, err
}

func (e *epoll) add(fd int) error {
	return unix.EpollCtl(e.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLOUT, Fd: int32(fd)})
}

func (e *epoll) established(fd int) error {
	return unix.EpollCtl(e.fd, unix.EPOLL_CTL_MOD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

func (e *epoll) remove(int) {} // closing a socket removes it

func (e *epoll) wait(milliseconds int) []int {
	n, _ := unix.EpollWait(e.fd, e.events[:], milliseconds) // an error is an interruption
	e.ready = e.ready[:0]
	for _, event := range e.events[:max(0, n)] {
		e.ready = append(e.ready, int(event.Fd))
	}
	return e.ready
}

func (e *epoll) close() { _ = unix.Close(e.fd) }
