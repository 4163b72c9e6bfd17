package listener

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"time"

	"example.com/flashsale/internal/admission"
)

// A Conn is a connection that a Listener has accepted.
type Conn struct {
	net.Conn
	// of the latest request; of the first one that has arrived while the connection waited, when it was accepted
	arrival admission.Arrival
	unread  []byte // what has been received and Read has not returned yet

	// Guarded by the Listener's mutex.
	busy    bool
	awaited bool // the server waits, or has waited, for the first byte of the next request
}

func newConn(c net.Conn, now time.Time) *Conn {
	conn := &Conn{Conn: c}
	conn.arrival.Set(now)
	return conn
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	if len(c.unread) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

// CloseWrite lets net/http send a refusal to a client that is still writing.
func (c *Conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// SyscallConn implements syscall.Conn.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// silent reports whether nothing has arrived that was not read.
func (c *Conn) silent() bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		n, _, _ = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return err == nil && n <= 0
}

// ConnContext must be the server's http.Server.ConnContext.
func (l *Listener) ConnContext(ctx context.Context, conn net.Conn) context.Context {
	c, ok := conn.(*Conn)
	if !ok {
		return ctx
	}
	return admission.WithArrival(ctx, &c.arrival)
}

// ConnState must be the server's http.Server.ConnState.
func (l *Listener) ConnState(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*Conn)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateActive:
		if c.awaited {
			c.arrival.Set(time.Now())
		}
		c.awaited = true
		l.setBusy(c, true)
	case http.StateIdle:
		l.setBusy(c, false)
	case http.StateClosed, http.StateHijacked:
		l.setBusy(c, false)
		l.open--
		l.update()
	}
}

// setBusy notes whether c is busy.
func (l *Listener) setBusy(c *Conn, busy bool) {
	if c.busy == busy {
		return
	}
	c.busy = busy
	if busy {
		l.busy++
		return
	}
	l.busy--
	l.changed.Broadcast()
}
