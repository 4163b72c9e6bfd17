package listener

import (
	"bytes"
	"errors"
	"slices"
	"syscall"
	"time"
)

// A refusal is a connection that is being refused without being open. It gets the response
// once its request has arrived: the kernel resets a connection that is closed with unread
// data, or that gets data afterwards, and the client might not read the response
// then. If there may be more data to come, the client closes the connection first.
type refusal struct {
	*Conn
	since     time.Time // when it was refused, or got the response
	responded bool
	pause     time.Duration // until next
	next      time.Time     // when to look at it again
}

const (
	refusalInterval = 5 * time.Millisecond
	longestSilence  = time.Second            // until a connection without a request gets the response
	longestLinger   = 250 * time.Millisecond // until this side closes a connection that has got it,
	longestEnd      = 2 * time.Second        // or does so even though the client sends more
)

// refuseNew has refuseAll refuse c, which has been accepted.
func (l *Listener) refuseNew(c *Conn) {
	l.refused++
	l.end(&refusal{Conn: c, since: time.Now()})
}

// linger has refuseAll close c, which has got the response.
func (l *Listener) linger(c *Conn) {
	_ = c.CloseWrite()
	l.end(&refusal{Conn: c, since: time.Now(), responded: true})
}

func (l *Listener) end(r *refusal) {
	l.refusals++
	l.toRefuse = append(l.toRefuse, r)
	if l.refusals == 1 {
		go l.refuseAll()
	}
}

// refuseAll works on the refusals until there are none.
func (l *Listener) refuseAll() {
	var all []*refusal
	for buf := make([]byte, 4096); ; time.Sleep(refusalInterval) {
		l.mu.Lock()
		all = append(all, l.toRefuse...)
		l.toRefuse = l.toRefuse[:0]
		l.mu.Unlock()
		now := time.Now()
		all = slices.DeleteFunc(all, func(r *refusal) bool { return !r.next.After(now) && l.finish(r, buf) })
		l.mu.Lock()
		l.refusals = len(all) + len(l.toRefuse)
		l.changed.Broadcast()
		ended := l.refusals == 0
		l.mu.Unlock()
		if ended {
			return
		}
	}
}

// finish does what can be done for r without waiting, and reports whether that was
// all.
func (l *Listener) finish(r *refusal, buf []byte) bool {
	n, err := r.receive(buf)
	waits, took := errors.Is(err, syscall.EAGAIN), time.Since(r.since)
	if r.responded {
		if ends := n == 0 && !waits || waits && took > longestLinger || took > longestEnd; !ends {
			return r.look(n == 0)
		}
		_ = r.Conn.Close()
		return true
	}
	r.unread = append(r.unread, buf[:n]...)
	switch {
	case n == 0 && !waits:
		_ = r.Conn.Close()
		return true
	case !endsHeader(r.unread) && len(r.unread) < serverBuffer && took < longestSilence:
		return r.look(n == 0)
	case endsHeader(r.unread) && isProbe(r.unread):
		l.serveProbe(r.Conn)
		return true
	}
	r.respond(l.Response)
	if bytes.HasSuffix(r.unread, endOfRequest) {
		_ = r.Conn.Close()
		return true
	}
	_ = r.CloseWrite()
	r.responded, r.since, r.pause = true, time.Now(), 0
	return false
}

// look makes refuseAll look at r again, later each time that nothing has arrived. It
// returns false.
func (r *refusal) look(silent bool) bool {
	if silent {
		r.pause = 2*r.pause + refusalInterval
		r.next = time.Now().Add(r.pause)
	}
	return false
}

// endOfRequest ends a header, and a request that has no body.
var endOfRequest = []byte("\r\n\r\n")

// probes begin the requests that are never refused. A refused probe would get the
// instance restarted, and would hide the overload from monitoring.
var probes = [][]byte{[]byte("GET /livez "), []byte("GET /readyz "), []byte("GET /metrics ")}

func isProbe(received []byte) bool {
	return slices.ContainsFunc(probes, func(p []byte) bool { return bytes.HasPrefix(received, p) })
}

// serveProbe makes Accept return c next, however many connections are open.
func (l *Listener) serveProbe(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused--
	l.open++
	c.arrived = time.Now()
	l.setBusy(c, true)
	l.pass(c)
}

// countRefusal counts a request that has waited in vain.
func (l *Listener) countRefusal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused++
}
