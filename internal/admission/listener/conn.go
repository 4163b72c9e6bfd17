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
	idleFor     time.Duration // at most; 0 is without end, unknown until net/http has set it
	begun       bool          // net/http has a part of the request, or it is the first one
	passed      bool          // the request has been admitted, and the server has not begun it
	admitted    chan struct{} // by the Listener, after a wait

	// Guarded by the Listener's mutex.
	busy    bool
	freed   bool // works on a request without being busy
	fresh   bool // accepted without a request, which has not come yet
	seen    bool // worked on this request when the Listener last looked
	awaited bool // the next request has not been seen to arrive
}

const unknown time.Duration = -1

func (l *Listener) newConn(c net.Conn, now time.Time) *Conn {
	conn := &Conn{Conn: c, listener: l, hungUp: func() {}, begun: true}
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
	if len(c.unread) > 0 {
		n := copy(b, c.unread)
		c.unread = c.unread[n:]
		return n, nil
	}
	for {
		n, err := c.read.retry(c.Conn.Read, c.Conn.SetReadDeadline, b)
		if received := b[:max(0, n)]; !c.idle || !endsHeader(received) { // a part of a header takes no place
			return n, err
		}
		if c.begins(b[:n], !c.begun && len(b) == serverBuffer) {
			return n, err
		}
		if !c.idle {
			return 0, io.EOF
		}
	}
}

// serverBuffer is how much net/http reads at a time. It reads less while it has some
// bytes of a request, but fewer than the four after which it begins.
const serverBuffer = 4096

// begins reports whether the server may begin the request of whose header received is
// the end, or all of it. Otherwise the request has been refused: c is idle, and waits for
// the next one, or is closed. It stays open only if the server has seen nothing of that
// request.
func (c *Conn) begins(received []byte, all bool) bool {
	c.idle, c.passed = false, true
	mayStay := all && isWhole(received)
	if !(mayStay && c.listener.refuses(received)) && c.listener.admit(c, received) {
		return true
	}
	c.passed = false
	if !mayStay || c.listener.closesAll() {
		c.respond(c.listener.response)
	} else if c.respond(c.listener.stayOpen) {
		c.idle = true
		if c.idleFor > 0 {
			_ = c.read.want(time.Now().Add(c.idleFor), c.Conn.SetReadDeadline) // Read will report it
		}
		return false
	}
	_ = c.Close() // net/http ignores an end in the middle of a header
	return false
}

// respond sends a response, which fits into the send buffer unless the client does not
// read. It reports whether all of it was sent.
func (c *Conn) respond(response []byte) bool {
	n := 0
	if c.raw == nil {
		_ = c.SetWriteDeadline(time.Now().Add(longestLinger))
		n, _ = c.Write(response)
	} else {
		_ = c.raw.Control(func(fd uintptr) { n, _ = syscall.Write(int(fd), response) })
	}
	return n > 0 && n == len(response)
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
	if c.idle {
		// The second one while c is idle is for a request that net/http had already read in part.
		c.begun = c.begun || c.idleFor != unknown
		c.idleFor = max(0, time.Until(t))
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

// hasHeader reports whether the header of a request has arrived, or may have. It looks
// for it in b.
func (c *Conn) hasHeader(b []byte) bool {
	n, err := c.peek(b)
	return len(c.unread) > 0 || errors.Is(err, errors.ErrUnsupported) || endsHeader(b[:max(0, n)])
}

// endsHeader reports whether a header ends in what has been received. The line breaks
// that some clients send after a body end none.
func endsHeader(received []byte) bool {
	return bytes.Contains(bytes.TrimLeft(received, "\r\n"), endOfRequest)
}
