package listener

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A poller tells when something has arrived at one of many connections. It is an epoll
// instance, in which a connection takes no goroutine. The runtime's own instance watches
// it, so that no thread waits in it.
type poller struct {
	file   *os.File
	epoll  syscall.RawConn
	events [256]unix.EpollEvent

	mu    sync.Mutex
	conns map[int32]*Conn // by file descriptor
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, os.NewSyscallError("epoll", err)
	}
	p := &poller{file: os.NewFile(uintptr(fd), "epoll"), conns: map[int32]*Conn{}}
	p.epoll, err = p.file.SyscallConn()
	return p, err
}

// await makes each call its handler for c once, when something has arrived there or it has ended.
func (p *poller) await(c *Conn) error {
	return control(c.raw, func(fd int) error {
		event := &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: c.fd}
		op := unix.EPOLL_CTL_MOD
		if p.add(c) {
			op = unix.EPOLL_CTL_ADD
		}
		return control(p.epoll, func(epoll int) error { return unix.EpollCtl(epoll, op, fd, event) })
	})
}

// add reports whether p has not known c.
func (p *poller) add(c *Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.conns[c.fd] == c
	p.conns[c.fd] = c
	return !known
}

// forget frees what await keeps of c. The kernel forgets c when it is closed.
func (p *poller) forget(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns[c.fd] == c {
		delete(p.conns, c.fd)
	}
}

// each calls handle for the connections at which something may have arrived, until p is
// closed. Whenever it has seen all of them it lets other goroutines run: while one never
// stops, the runtime looks for replies of databases every 10 ms only.
func (p *poller) each(handle func(*Conn)) {
	_ = p.epoll.Read(func(epoll uintptr) bool {
		for n := len(p.events); n == len(p.events); {
			n, _ = unix.EpollWait(int(epoll), p.events[:], 0)
			for _, c := range p.ready(p.events[:max(0, n)]) {
				handle(c)
			}
		}
		return false
	})
}

func (p *poller) ready(events []unix.EpollEvent) (conns []*Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, event := range events {
		if c := p.conns[event.Fd]; c != nil {
			conns = append(conns, c)
		}
	}
	return conns
}

func (p *poller) close() { _ = p.file.Close() }
