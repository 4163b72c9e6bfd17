package listener

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/flashsale/internal/admission"
)

// A Conn is a connection that a Listener has accepted.
//
// While a handler runs, net/http reads a byte in another goroutine, to notice that the
// client hangs up. Waiting for it would cost each request two system calls, two timers
// and the goroutine's stack. Here that read returns without a byte, and the Listener
// looks for clients that have hung up.
type Conn struct {
	net.Conn
	listener *Listener
	raw      syscall.RawConn // nil if there is none
	// of the latest request; of the first one that has arrived while the connection waited, when it was accepted
	place       admission.Place
	unread      []byte // what has been received and Read has not returned yet
	read, write deadline
	skipsByte   atomic.Bool // the next read of one byte is that of net/http
	hungUp      func()
	idle        bool          // the next request has to be admitted, once Read has its header
	passed      bool          // the request has been admitted, and the server has not begun it
	admitted    chan struct{} // by the Listener, after a wait

	// Guarded by the Listener's mutex.
	busy    bool
	freed   bool // works on a request without being busy
	fresh   bool // accepted without a request, which has not come yet
	seen    bool // worked on this request when the Listener last looked
	awaited bool // the next request has not been seen to arrive
}

func (l *Listener) newConn(c net.Conn, now time.Time) *Conn {
	conn := &Conn{Conn: c, listener: l, hungUp: func() {}}
	if s, ok := c.(syscall.Conn); ok {
		conn.raw, _ = s.SyscallConn()
	}
	conn.place.Set(now)
	conn.place.Free = func() { l.free(conn) }
	return conn
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 1 && c.skipsByte.CompareAndSwap(true, false) {
		return 0, nil
	}
	if len(c.unread) == 0 {
		n, err := c.read.retry(c.Conn.Read, c.Conn.SetReadDeadline, b)
		if c.idle && endsHeader(b[:max(0, n)]) { // a part of a header takes no place
			c.idle, c.passed = false, true
			if !c.listener.admit(c, b[:n]) {
				_ = c.respond(c.listener.response) // the client may have left
				_ = c.Close()                      // net/http ignores an end in the middle of a header
				return 0, io.EOF
			}
		}
		return n, err
	}
	n := copy(b, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

// respond sends a response without a request's deadline.
func (c *Conn) respond(response []byte) error {
	_ = c.SetWriteDeadline(time.Now().Add(longestLinger))
	_, err := c.Write(response)
	return err
}

// Write implements net.Conn.
func (c *Conn) Write(b []byte) (int, error) {
	return c.write.retry(c.Conn.Write, c.Conn.SetWriteDeadline, b)
}

// aLongTimeAgo is the deadline with which net/http ends its read of one byte.
var aLongTimeAgo = time.Unix(1, 0)

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.skipsByte.Load() && t.Equal(aLongTimeAgo) {
		return nil
	}
	return c.read.want(t, c.Conn.SetReadDeadline)
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.write.want(t, c.Conn.SetWriteDeadline) }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
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
	if c.raw == nil {
		return nil, errors.ErrUnsupported
	}
	return c.raw, nil
}

// peek copies what has arrived and was not read into b. The error is EAGAIN if nothing
// has; 0 without an error is the end.
func (c *Conn) peek(b []byte) (n int, err error) {
	if c.raw == nil {
		return 0, errors.ErrUnsupported
	}
	failed := c.raw.Control(func(fd uintptr) {
		n, _, err = syscall.Recvfrom(int(fd), b, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return n, errors.Join(failed, err)
}

// silent reports whether nothing has arrived that was not read.
func (c *Conn) silent() bool {
	n, err := c.peek(make([]byte, 1))
	return n <= 0 && !errors.Is(err, errors.ErrUnsupported)
}

// hasHeader reports whether the header of a request has arrived, or may have.
func (c *Conn) hasHeader() bool {
	var b [4096]byte // as net/http reads
	n, err := c.peek(b[:])
	return len(c.unread) > 0 || errors.Is(err, errors.ErrUnsupported) || endsHeader(b[:max(0, n)])
}

// endsHeader reports whether a header ends in what has been received. The line breaks
// that some clients send after a body end none.
func endsHeader(received []byte) bool {
	return bytes.Contains(bytes.TrimLeft(received, "\r\n"), endOfRequest)
}
