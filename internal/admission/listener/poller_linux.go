package listener

import (
	"os"
	"sync"
	"syscall"
	"time"

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

// await makes each call its handler for c when more has arrived there, or c has ended; also of
// what had arrived before, if c has not been awaited yet or has missed it. So a connection that
// is parked again and again costs no system call here. The caller has the Listener's mutex.
func (p *poller) await(c *Conn) error {
	op := unix.EPOLL_CTL_MOD // which tells again
	switch {
	case p.add(c):
		op = unix.EPOLL_CTL_ADD
	case !c.missed:
		return nil
	}
	c.missed = false
	return control(c.raw, func(fd int) error {
		event := &unix.EpollEvent{Events: arrivals, Fd: c.fd}
		return control(p.epoll, func(epoll int) error { return unix.EpollCtl(epoll, op, fd, event) })
	})
}

// arrivals are the events that are told, each time that one comes. Besides bytes these are the
// end, an error and urgent data: a read stops before all of them, with or without bytes.
const arrivals = unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLRDHUP | unix.EPOLLET

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

// each calls handle for the connections at which something may have arrived, and says whether
// a read may stop before all of it, until p is closed. Whenever it has seen all of them it lets other
// goroutines run, and in between for a fifth of the time: while one never stops, the runtime
// looks for replies of databases every 10 ms only, and claims take a second.
func (p *poller) each(handle func(c *Conn, stops bool)) {
	_ = p.epoll.Read(func(epoll uintptr) bool {
		for {
			begin := time.Now()
			n, _ := unix.EpollWait(int(epoll), p.events[:], 0)
			for _, a := range p.ready(p.events[:max(0, n)]) {
				handle(a.Conn, a.stops)
			}
			switch {
			case n <= 0: // the runtime is only told of what arrives from now on
				return false
			case n == len(p.events):
				time.Sleep(time.Since(begin) / 4)
			}
		}
	})
}

// An arrival is at a connection. A read may stop before all of it.
type arrival struct {
	*Conn
	stops bool
}

func (p *poller) ready(events []unix.EpollEvent) (all []arrival) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, event := range events {
		if c := p.conns[event.Fd]; c != nil {
			all = append(all, arrival{c, event.Events&^unix.EPOLLIN != 0})
		}
	}
	return all
}

func (p *poller) close() { _ = p.file.Close() }
