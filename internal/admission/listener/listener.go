// Package listener bounds how many connections an HTTP server works on at a time,
// and refuses those that would wait for too long.
//
// A server that handles the requests of many clients while others are still
// connecting accepts too slowly: the kernel's accept queue overflows, and clients,
// or the proxy before the server, connect again after a second. Each connection
// that net/http serves also takes some 30 kB. A Listener therefore accepts every
// connection at once, and gives the server as many as may stay open. Of these it lets
// as many requests through as the server may work on. Others wait: requests of open
// connections, and further connections. What would wait for too long gets a response
// that was written beforehand, after which an open connection may stay open.
package listener

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/internal/admission"
)

// A Listener accepts connections as they come. A connection is busy while its server
// reads or handles a request. Requests of open connections and further connections
// become busy in the order in which they came. Others do not wait for connections that
// are
//
//   - idle: while few are busy, Accept returns more connections than may stay open, and
//     each response closes its connection until no more are open;
//   - busy without end: while connections wait and no more may be opened, one response
//     in some closes its connection. Not each, because a new connection costs more than
//     a claim. Few may wait then, and the others are refused at once.
type Listener struct {
	net.Listener
	// RefusesUnread, if it is not nil, reports whether the request that begins with these
	// bytes gets the response at once. It must be set before Accept is called, and must
	// not keep the bytes.
	RefusesUnread func(request []byte) bool

	close    func() error // closes the net.Listener, once
	conns    int          // that may stay open
	places   int          // for busy ones
	limits   admission.Limits
	response []byte
	stayOpen []byte // the response after which the connection stays open

	closeEvery atomic.Uint32 // 0: no response closes its connection, n: one response in n does
	responses  atomic.Uint32 // while connections wait

	mu        sync.Mutex
	changed   *sync.Cond         // something that Accept or acceptAll waits for
	open      map[*Conn]struct{} // those that Accept has returned and that are not closed
	busy      int                // of these
	fresh     int                // of these
	probes    list.List          // of *Conn that ask for the server's health
	waiting   list.List          // of *Conn, in order of arrival
	forecast  admission.Forecast // of these
	requests  list.List          // of *Conn that are open and not busy, and whose requests wait
	requested admission.Forecast // of these
	err       error              // of the listener; Accept has not returned it yet, unless it is net.ErrClosed
	toRefuse  []*refusal
	refusals  int // connections that are being refused, toRefuse included
	refused   int // since the start
	peeked    [serverBuffer]byte
	paused    bool // the server has got an error from Accept, and will call it again after a while
	draining  bool
}

// How many connections may be busy, wait, and be open while few are busy, in terms of
// those that stay open. They take memory and open files: a busy one some 26 kB, another
// open one 17, one that waits 1.
const busyShare, waitingShare = 4, 2

// Places returns how many of the connections that may stay open may be busy.
func Places(conns int) int { return max(1, conns/busyShare) }

// New returns a Listener on l for a server that calls ConnState and ConnContext and
// whose handler is Handler's. Conns is how many connections may stay open. What would
// wait for longer than limits allow gets the HTTP response, which has the field
// "Connection: close". It is left out where an open connection stays open.
func New(l net.Listener, conns int, limits admission.Limits, response []byte) *Listener {
	q := &Listener{Listener: l, close: sync.OnceValue(l.Close), limits: limits, response: response,
		stayOpen: bytes.Replace(response, []byte("Connection: close\r\n"), nil, 1),
		conns:    conns, places: Places(conns),
		open: map[*Conn]struct{}{}}
	q.changed = sync.NewCond(&q.mu)
	go q.acceptAll()
	go q.watchHangUps()
	return q
}

// acceptAll accepts until the listener is closed. After another error it pauses
// until Accept has returned the error, because net/http waits before it tries
// again.
func (l *Listener) acceptAll() {
	for {
		c, err := l.Listener.Accept()
		l.mu.Lock()
		if err == nil {
			l.enqueue(l.newConn(c, time.Now()))
		}
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

// Close implements net.Listener. After Drain it does nothing: http.Server.Shutdown
// closes a listener that is closed already.
func (l *Listener) Close() error { return l.close() }

// CloseConnections makes each response from now on close its connection, those of
// refusals as well.
func (l *Listener) CloseConnections() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draining = true
	l.update()
}

// Drain closes the listener, and returns when no connection waits or is busy, or
// when ctx ends. Call it before http.Server.Shutdown, which drops connections whose
// request has not been read.
func (l *Listener) Drain(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})()
	awaitHandshakes(ctx, l.Listener)
	err := l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draining = true
	l.update()
	// requests wait only for connections that are busy or wait
	for ctx.Err() == nil && l.probes.Len()+l.waiting.Len()+l.refusals+l.busy+l.fresh > 0 {
		l.changed.Wait()
	}
	return err
}

// Accept implements net.Listener. After Close it first returns the connections
// that are waiting.
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = false
	for {
		closed := errors.Is(l.err, net.ErrClosed)
		switch {
		case l.probes.Len() > 0:
			return l.take(&l.probes), nil
		case closed && l.waiting.Len()+l.refusals == 0:
			return nil, l.err
		case l.err != nil && !closed:
			err := l.err
			l.err, l.paused = nil, true
			l.admitNext()
			l.changed.Broadcast()
			return nil, err
		case l.connectionIsNext():
			l.forecast.Leave(time.Now())
			return l.take(&l.waiting), nil
		}
		l.changed.Wait()
	}
}

// take opens the first connection of a queue. It is busy if its request has arrived.
func (l *Listener) take(queue *list.List) *Conn {
	c := queue.Remove(queue.Front()).(*Conn)
	l.open[c] = struct{}{}
	c.idle = !c.hasHeader(l.peeked[:])
	c.awaited = c.idle
	l.noteFresh(c, c.idle)
	l.setBusy(c, !c.idle)
	l.update()
	return c
}

// hasRoom reports whether one more connection may be open, and busy.
func (l *Listener) hasRoom() bool {
	return l.busy < l.places && len(l.open) < l.conns || l.busy < (l.places+1)/2 && len(l.open) < l.conns+l.places
}

// update refuses connections for which there is no room any more, notes which responses
// close their connection, and wakes Accept and Drain.
func (l *Listener) update() {
	l.shed()
	switch {
	case len(l.open) > l.conns, l.draining:
		l.closeEvery.Store(1)
	case l.waiting.Len() > 0 && len(l.open) == l.conns:
		l.closeEvery.Store(handOver)
	default:
		l.closeEvery.Store(0)
	}
	l.admitNext()
	l.changed.Broadcast()
}

// handOver is how many responses there are for each that closes its connection
// because others wait.
const handOver = 8

// closes reports whether a response closes its connection.
func (l *Listener) closes() bool {
	switch n := l.closeEvery.Load(); n {
	case 0:
		return false
	case 1:
		return true
	default:
		return l.responses.Add(1)%n == 0
	}
}

// closesAll reports whether each response closes its connection.
func (l *Listener) closesAll() bool { return l.closeEvery.Load() == 1 }

// Handler returns next for the server, with responses that close their connection
// if others need its place.
func (l *Listener) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.closes() {
			w.Header()["Connection"] = connectionClose
		}
		next.ServeHTTP(w, r)
	})
}

var connectionClose = []string{"close"}

// Stats are counts of connections, and the wait that is predicted for the next
// one. Refused is the number since the start.
type Stats struct {
	Busy, Idle, Waiting, Refused int
	Wait                         time.Duration
}

// Stats returns the current counts.
func (l *Listener) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Stats{Busy: l.busy, Idle: len(l.open) - l.busy - l.requests.Len(),
		Waiting: l.waiting.Len() + l.requests.Len(), Refused: l.refused}
	for queue, forecast := range map[*list.List]*admission.Forecast{
		&l.waiting: &l.forecast, &l.requests: &l.requested,
	} {
		if queue.Len() > 0 {
			wait, _ := forecast.Wait(time.Now(), queue.Len())
			s.Wait = max(s.Wait, wait)
		}
	}
	return s
}
