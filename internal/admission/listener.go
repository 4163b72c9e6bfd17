package admission

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Listener bounds the connections that a server has open. Eight times as many are accepted
// and wait until others close: those take 1 kB each, where one that net/http serves takes 17 to
// 26. The rest is in the kernel's queue, which does not tell how long they have waited. One
// that has waited for too long is refused. While any wait, close connections with their
// responses (see Crowded): idle ones would keep others from being served.
type Listener struct {
	net.Listener
	timeout  Timeout
	response []byte

	open      chan struct{} // has an element for each open connection
	waiting   chan arrival
	full      atomic.Bool   // while one waits that has left the queue
	refusing  chan struct{} // has an element for each refusal in the background
	refused   atomic.Int64
	held      atomic.Int64 // connections that are not closed, and one for acceptAll
	failure   error        // of the accepting; set before waiting is closed
	closeOnce func() error
}

type arrival struct {
	net.Conn
	time time.Time
}

// Bound returns a Listener on l. It has at most conns connections open, and the others wait,
// for at most timeout.Connect() from when they were accepted. A connection that is refused
// gets response, which must close it.
func Bound(l net.Listener, conns int, timeout Timeout, response []byte) *Listener {
	bounded := &Listener{Listener: l, timeout: timeout, response: response, closeOnce: sync.OnceValue(l.Close),
		open: make(chan struct{}, conns), waiting: make(chan arrival, 8*conns), refusing: make(chan struct{}, 2*conns)}
	bounded.held.Add(1)
	go bounded.acceptAll()
	return bounded
}

func (l *Listener) acceptAll() {
	defer l.held.Add(-1)
	defer close(l.waiting)
	for {
		conn, err := l.Listener.Accept()
		switch {
		case err == nil:
			l.held.Add(1)
			l.waiting <- arrival{conn, time.Now()}
		case isTemporary(err): // for want of open files
			time.Sleep(100 * time.Millisecond)
		default:
			l.failure = err
			return
		}
	}
}

func isTemporary(err error) bool {
	temporary, ok := err.(interface{ Temporary() bool })
	return ok && temporary.Temporary()
}

// Accept implements net.Listener. Connections that were accepted before Close are returned
// after it.
func (l *Listener) Accept() (net.Conn, error) {
	for next := range l.waiting {
		if l.admit(next.time.Add(l.timeout.Connect())) {
			return &conn{next.Conn, sync.OnceFunc(func() { <-l.open; l.held.Add(-1) })}, nil
		}
		l.refuse(next.Conn)
	}
	return nil, l.failure
}

// admit waits until one more connection may be open, or until the deadline.
func (l *Listener) admit(deadline time.Time) bool {
	select {
	case l.open <- struct{}{}:
		return true
	default:
	}
	l.full.Store(true)
	defer l.full.Store(false)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	select {
	case l.open <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

type conn struct {
	net.Conn
	free func()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	defer c.free()
	return c.Conn.Close()
}

// CloseWrite lets net/http send a last response to a client that is still writing.
func (c *conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// refuse responds to the request of c in the background, and closes c. It waits while too many
// are refused at once: those that have sent their request are gone within no time.
func (l *Listener) refuse(c net.Conn) {
	l.refused.Add(1)
	l.refusing <- struct{}{}
	go func() { l.respond(c); <-l.refusing }()
}

// respond reads the request first: with unread data, the kernel would reset the connection,
// and the client might not read the response. A client that sends nothing for two seconds gets
// none. The writing has no deadline: nothing else is in the connection's buffer.
func (l *Listener) respond(c net.Conn) {
	defer l.held.Add(-1)
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
	var request [4096]byte
	if _, err := c.Read(request[:]); err == nil {
		_, _ = c.Write(l.response)
	}
}

// Drain accepts what has connected and then nothing more, and gives clients a second to
// close their connections, or half of the time until ctx ends if that is shorter. Call it
// before http.Server.Shutdown: the kernel resets connections that are not accepted when
// their listener closes, and those that Shutdown closes as idle, also if they have sent a
// request.
func (l *Listener) Drain(ctx context.Context) error {
	awaitHandshakes(ctx, l.Listener)
	err := l.Close()
	for end := idleEnd(ctx); l.held.Load() > 0 && time.Now().Before(end) && ctx.Err() == nil; {
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// idleEnd returns until when clients may close their connections. What comes after it needs
// time as well.
func idleEnd(ctx context.Context) time.Time {
	end := time.Now().Add(time.Second)
	if deadline, ok := ctx.Deadline(); ok {
		half := time.Now().Add(time.Until(deadline) / 2)
		if half.Before(end) {
			end = half
		}
	}
	return end
}

// Close implements net.Listener.
func (l *Listener) Close() error { return l.closeOnce() }

// Crowded reports whether connections wait.
func (l *Listener) Crowded() bool { return l.full.Load() || len(l.waiting) > 0 }

// Conns are counts of connections. Refused is the number since the start.
type Conns struct{ Open, Waiting, Refused int }

// Conns returns the current counts.
func (l *Listener) Conns() Conns {
	return Conns{Open: len(l.open), Waiting: len(l.waiting), Refused: int(l.refused.Load())}
}
