//go:build !linux

package listener

import (
	"errors"
	"syscall"
	"time"
)

// A poller tells when something has arrived at one of many connections. Here each of them
// takes a goroutine.
type poller struct{ ready, closed chan *Conn }

func newPoller() (*poller, error) {
	return &poller{ready: make(chan *Conn), closed: make(chan *Conn)}, nil
}

// await makes each call its handler for c once, when something has arrived there. Closing c
// ends that.
func (p *poller) await(c *Conn) error {
	err := c.read.want(time.Time{}, c.Conn.SetReadDeadline)
	go func() {
		if _, err := c.read.retry(c.awaitBytes, c.Conn.SetReadDeadline, nil); err == nil {
			select {
			case p.ready <- c:
			case <-p.closed:
			}
		}
	}()
	return err
}

// awaitBytes is a Read that leaves what has arrived where it is.
func (c *Conn) awaitBytes([]byte) (int, error) {
	return 0, c.raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return !errors.Is(err, syscall.EAGAIN)
	})
}

// each calls handle for the connections at which something has arrived, until p is closed.
// await tells of what a read leaves.
func (p *poller) each(handle func(c *Conn, stops bool)) {
	for {
		select {
		case c := <-p.ready:
			handle(c, false)
		case <-p.closed:
			return
		}
	}
}

func (p *poller) forget(*Conn) {}

func (p *poller) close() { close(p.closed) }
