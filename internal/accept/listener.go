// Package accept bounds how many connections an HTTP server works on at a time.
//
// A server that handles the requests of a crowd while the crowd is still
// connecting accepts too slowly: the kernel's accept queue overflows, and clients,
// or the proxy before the server, connect again after a second. Each connection
// that net/http serves also takes some 30 kB. A Listener therefore accepts every
// connection at once, and those beyond its limit wait in a queue.
package accept

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// A Listener accepts connections as they come. Its method Accept returns the one
// that has waited longest, as soon as fewer than the limit are busy. A connection
// is busy while its server waits for its first request, or reads or handles a
// request. An idle connection is not held back when it gets another request, but
// its place goes to the one that has waited longest: clients that send one request
// after the other keep nobody out.
type Listener struct {
	net.Listener
	close   func() error // closes the net.Listener, once
	limit   int
	maxWait time.Duration
	refusal []byte

	mu      sync.Mutex
	changed *sync.Cond // something that Accept or acceptAll waits for
	busy    map[net.Conn]struct{}
	waiting list.List // of waiter, in order of arrival
	granted int       // places that were left while connections waited
	err     error     // of the listener; Accept has not returned it yet, unless it is net.ErrClosed
	refused int
}

type waiter struct {
	conn  net.Conn
	since time.Time
	again bool // it waits once more
}

// NewListener returns a Listener on l for a server that calls ConnState. A
// connection that has waited for maxWait gets the HTTP response refusal and is
// closed.
func NewListener(l net.Listener, limit int, maxWait time.Duration, refusal []byte) *Listener {
	q := &Listener{Listener: l, close: sync.OnceValue(l.Close), limit: limit, maxWait: maxWait, refusal: refusal, busy: map[net.Conn]struct{}{}}
	q.changed = sync.NewCond(&q.mu)
	go q.acceptAll()
	return q
}

// acceptAll accepts until the listener is closed. After another error it pauses
// until Accept has returned the error, because net/http waits before it tries
// again.
func (l *Listener) acceptAll() {
	for {
		c, err := l.Listener.Accept()
		if err == nil {
			l.enqueue(waiter{conn: c, since: time.Now()})
		}
		l.mu.Lock()
		l.err = err
		l.changed.Broadcast()
		for l.err != nil && !errors.Is(l.err, net.ErrClosed) {
			l.changed.Wait()
		}
		l.mu.Unlock()
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

func (l *Listener) enqueue(w waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting.Len() == 0 {
		time.AfterFunc(l.maxWait, l.refuseLate)
	}
	l.waiting.PushBack(w)
	l.changed.Broadcast()
}

// Close implements net.Listener. After Drain it does nothing: http.Server.Shutdown
// closes a listener that is closed already.
func (l *Listener) Close() error { return l.close() }

// Drain closes the listener, and returns when no connection waits or is busy, or
// when ctx ends. Call it before http.Server.Shutdown, which drops connections whose
// request has not been read.
func (l *Listener) Drain(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})()
	err := l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for ctx.Err() == nil && l.waiting.Len()+len(l.busy) > 0 {
		l.changed.Wait()
	}
	return err
}

// Accept implements net.Listener. After Close it first returns the connections
// that are waiting.
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		closed := errors.Is(l.err, net.ErrClosed)
		switch {
		case closed && l.waiting.Len() == 0:
			return nil, l.err
		case l.err != nil && !closed:
			err := l.err
			l.err = nil
			l.changed.Broadcast()
			return nil, err
		case l.waiting.Len() > 0 && (len(l.busy) < l.limit || l.granted > 0):
			l.granted = max(0, l.granted-1)
			c := l.waiting.Remove(l.waiting.Front()).(waiter).conn
			l.busy[c] = struct{}{}
			return c, nil
		}
		l.changed.Wait()
	}
}

// ConnState must be the server's http.Server.ConnState.
func (l *Listener) ConnState(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if state == http.StateNew || state == http.StateActive {
		l.busy[c] = struct{}{}
		return
	}
	delete(l.busy, c)
	l.granted = min(l.granted+1, l.waiting.Len())
	l.changed.Broadcast()
}

// Stats are counts of connections. Refused is the number since the start.
type Stats struct{ Busy, Waiting, Refused int }

// Stats returns the current counts.
func (l *Listener) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{len(l.busy), l.waiting.Len(), l.refused}
}
