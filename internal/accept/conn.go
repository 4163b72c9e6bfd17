package accept

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// A Conn is a connection that a Listener has accepted.
type Conn struct {
	net.Conn
	received atomic.Int64 // the Unix time in nanoseconds: see Received
	unread   []byte       // what has been received and Read has not returned yet

	// Guarded by the Listener's mutex.
	busy    bool
	awaited bool // the server waits, or has waited, for the first byte of the next request
}

func newConn(c net.Conn, now time.Time) *Conn {
	conn := &Conn{Conn: c}
	conn.received.Store(now.UnixNano())
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

type connKey struct{}

// ConnContext must be the server's http.Server.ConnContext.
func (l *Listener) ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Received returns when the request of ctx was received. If the first request of
// a connection has arrived while the connection waited for its place, that is when
// the connection was accepted. Without a Listener it is the time of the call.
func Received(ctx context.Context) time.Time {
	if c, ok := ctx.Value(connKey{}).(*Conn); ok {
		return time.Unix(0, c.received.Load())
	}
	return time.Now()
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
			c.received.Store(time.Now().UnixNano())
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
