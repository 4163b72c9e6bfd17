package listener

import (
	"bytes"
	"container/list"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"
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
	raw      syscall.RawConn
	fd       int32
	address  string // that of the client, or empty
	unread   []byte // what has been received and the server has not read yet
	read     deadline
	write    deadline

	skipsByte atomic.Bool // the next read of one byte is that of net/http
	idle      bool        // the next request has to be admitted, once its header has arrived
	bounded   bool        // net/http has set the deadline of an idle connection
	begun     bool        // net/http has a part of the request
	passed    bool        // the request has been admitted, and the server has not begun it
	leaves    atomic.Bool // the server closes the connection, and the Listener keeps it
	ends      bool        // or ends it, because it has been refused
	lingers   bool        // once the client has sent the rest of its request
	settled   chan bool   // whether a request that waited is admitted

	// Guarded by the Listener's mutex.
	served  bool      // a lane has it
	arrived time.Time // the latest request
	busy    bool
	freed   bool // works on a request without being busy
	waited  bool // the request that has been admitted
	fresh   bool // the first request has not arrived
	seen    bool // worked on this request when the Listener last looked
	parked  *list.Element
	queue   *list.List // in which it is, or was, parked
	since   time.Time  // when it was parked
	missed  bool       // the poller has told, and something may not have been read
}

func (l *Listener) newConn(c net.Conn) (*Conn, error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("listener: a %T has no file descriptor", c)
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, err
	}
	conn := &Conn{Conn: c, listener: l, raw: raw, settled: make(chan bool, 1)}
	return conn, raw.Control(func(fd uintptr) { conn.fd = int32(fd) })
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 1 && c.skipsByte.CompareAndSwap(true, false) {
		return 0, nil
	}
	if len(c.unread) > 0 {
		n := copy(b, c.unread)
		if c.unread = c.unread[n:]; len(c.unread) == 0 {
			c.unread = nil
		}
		return n, nil
	}
	if c.leaves.Load() { // net/http takes the first end in the middle of a header for nothing
		return 0, io.EOF
	}
	unbegun := c.isUnbegun(b)
	for {
		n, err := c.read.retry(c.Conn.Read, c.Conn.SetReadDeadline, b)
		received := b[:max(0, n)]
		if !c.idle || !endsHeader(received) { // a part of a header takes no place
			return n, err
		}
		whole := unbegun && isWhole(received)
		if c.begins(received, whole) {
			return n, err
		}
		if !c.refuse(received, whole) {
			c.ends = true
			return c.leave()
		}
		if err := c.expectRequest(); err != nil {
			return 0, err
		}
	}
}

// isUnbegun reports whether the server, which reads into b, has nothing of the next request.
func (c *Conn) isUnbegun(b []byte) bool { return c.idle && !c.begun && len(b) == serverBuffer }

// leave makes the server close c, which remains open.
func (c *Conn) leave() (int, error) {
	c.leaves.Store(true)
	return 0, io.EOF
}

// expectRequest bounds the wait for the next request, as net/http does after a response.
func (c *Conn) expectRequest() error {
	deadline := time.Time{}
	if d := c.listener.idleTime(); d > 0 {
		deadline = time.Now().Add(d)
	}
	return c.read.want(deadline, c.Conn.SetReadDeadline)
}

// serverBuffer is how much net/http reads at a time. It reads less while it has some
// bytes of a request, but fewer than the four after which it begins.
const serverBuffer = 4096

// begins reports whether the server may begin the request of whose header received is the
// end, or all of it, if it is whole. It waits for a place. Otherwise the request is to be
// refused.
func (c *Conn) begins(received []byte, whole bool) bool {
	if whole && c.listener.refuses(received) {
		return false
	}
	switch c.listener.arrive(c, received) {
	case waits:
		if !<-c.settled {
			c.listener.countRefusal()
			return false
		}
	case refused:
		return false
	}
	c.idle, c.passed = false, true
	return true
}

// refuse responds to a request that does not begin, and reports whether c waits for the
// next one. It does only if the server has seen nothing of that request.
func (c *Conn) refuse(received []byte, whole bool) bool {
	if whole && !c.listener.draining.Load() {
		return c.respond(c.listener.stayOpen)
	}
	c.respond(c.listener.Response)
	c.lingers = !bytes.HasSuffix(received, endOfRequest) // it would be reset if it were closed now
	return false
}

// Write implements net.Conn.
func (c *Conn) Write(b []byte) (int, error) {
	if c.leaves.Load() { // net/http would respond to a part of a header
		return 0, net.ErrClosed
	}
	return c.write.retry(c.Conn.Write, c.Conn.SetWriteDeadline, b)
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	if c.leaves.Load() {
		return nil
	}
	return c.Conn.Close()
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
		c.begun, c.bounded = c.begun || c.bounded, true
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
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return c.raw, nil }
