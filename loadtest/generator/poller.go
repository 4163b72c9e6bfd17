package generator

import (
	"slices"

	"golang.org/x/sys/unix"
)

// A poller knows which sockets are ready.
type poller interface {
	add(fd int) error         // begins with fd, which is ready when its connection is open
	established(fd int) error // fd is ready from now on when there is something to read
	remove(fd int)
	wait(milliseconds int) []int // returns those that are ready, if necessary after a wait; valid until the next call
	close()
}

// A pollList is the poller of systems without epoll: poll(2), which looks at all
// sockets each time.
type pollList struct {
	sockets []unix.PollFd
	ready   []int
}

func (p *pollList) add(fd int) error {
	p.sockets = append(p.sockets, unix.PollFd{Fd: int32(fd), Events: unix.POLLOUT})
	return nil
}

func (p *pollList) established(fd int) error {
	p.sockets[p.index(fd)].Events = unix.POLLIN
	return nil
}

func (p *pollList) remove(fd int) {
	if i := p.index(fd); i >= 0 {
		p.sockets = slices.Delete(p.sockets, i, i+1)
	}
}

func (p *pollList) index(fd int) int {
	return slices.IndexFunc(p.sockets, func(s unix.PollFd) bool { return s.Fd == int32(fd) })
}

func (p *pollList) wait(milliseconds int) []int {
	p.ready = p.ready[:0]
	_, _ = unix.Poll(p.sockets, milliseconds) // an error is an interruption
	for _, s := range p.sockets {
		if s.Revents != 0 {
			p.ready = append(p.ready, int(s.Fd))
		}
	}
	return p.ready
}

func (p *pollList) close() {}
