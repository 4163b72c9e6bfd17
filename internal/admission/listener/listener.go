// Package listener bounds what an HTTP server works on at a time, and refuses what would
// wait for too long.
//
// A server that handles the requests of many clients while others are still connecting
// accepts too slowly: the kernel's accept queue overflows, and clients, or the proxy
// before the server, connect again after a second. Each connection that net/http serves
// also takes some 17 kB, and 26 while it handles a request. A Listener therefore accepts
// every connection at once and keeps it itself, in 1 kB, until the header of a request has
// arrived. It lets as many requests through as the server may work on. Others wait in one
// queue. What would wait for too long gets a response that was written beforehand, after
// which the connection may stay open.
package listener

import (
	"bytes"
	"container/list"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/internal/admission"
)

// A Listener accepts connections as they come. A connection is served while net/http has
// it, and parked otherwise. One that is served is busy while the server reads or handles a
// request, and idle otherwise. It remains served until too many are open, or all places are
// taken. Requests of both kinds of connections become busy in the order in which their headers
// arrived.
type Listener struct {
	net.Listener
	Config

	server   *http.Server
	poller   *poller
	close    func() error // closes the net.Listener, once
	places   int          // for busy connections
	stayOpen []byte       // the Response after which the connection stays open

	mu        sync.Mutex
	changed   *sync.Cond         // something that Accept or Drain waits for
	open      int                // connections
	lanes     map[*lane]struct{} // that serve one of these each
	busy      int                // of these connections, and of those that are ready
	fresh     int                // connections whose first request has not arrived
	inHand    int                // parked connections that are being worked on here
	ready     list.List          // of *Conn, for Accept or a lane
	requests  list.List          // of *Conn, that wait
	forecast  admission.Forecast // of their waits
	idle      list.List          // of parked *Conn without a part of a request
	beginning list.List          // of other parked *Conn
	held      int                // bytes of the requests that begin
	err       error              // of the listener
	toRefuse  []*refusal
	refusals  int // connections that are being refused, toRefuse included
	refused   int // since the start
	closed    bool

	draining atomic.Bool // each response closes its connection
}

// A Config is that of a Listener.
type Config struct {
	// Conns is how many connections may be open before any leaves the server. A quarter of
	// as many requests are worked on at a time, one and a quarter times as many may wait, and
	// four times as many connections may be open.
	Conns int
	// Limits bound how long requests wait.
	Limits admission.Limits
	// Response is what a refused request gets. It has the field "Connection: close", which
	// is left out where the connection stays open.
	Response []byte
	// RefusesUnread, if it is not nil, reports whether the request that begins with these
	// bytes is refused although there may be a place for it, when it has arrived, and again
	// when it has waited. It must not keep the bytes or call the Listener.
	RefusesUnread func(request []byte) bool
}

// How many requests are worked on, and how many connections may be open, in terms of Conns. A
// connection takes 26 kB while its request is worked on, 17 while it is served and 1 while it
// is parked. More waiting requests than Conns and the places would be refused late where a
// crowd does not end.
const busyShare, openShare = 4, 4

// Places returns how many requests are worked on at a time.
func Places(conns int) int { return max(1, conns/busyShare) }

// New returns a Listener on l for server, which must have a Handler. It wraps that, and sets
// ConnState and ConnContext. The connections of l must be syscall.Conns.
func New(l net.Listener, server *http.Server, cfg Config) (*Listener, error) {
	q := &Listener{Listener: l, Config: cfg, server: server, close: sync.OnceValue(l.Close),
		stayOpen: bytes.Replace(cfg.Response, []byte("Connection: close\r\n"), nil, 1),
		places:   Places(cfg.Conns), lanes: map[*lane]struct{}{}}
	q.changed = sync.NewCond(&q.mu)
	var err error
	if q.poller, err = newPoller(); err != nil {
		return nil, err
	}
	server.Handler, server.ConnState, server.ConnContext = q.handler(server.Handler), q.connState, q.connContext
	go q.acceptAll()
	go q.receiveAll()
	go q.watch()
	return q, nil
}

// Accept implements net.Listener. While Drain waits, it goes on to return the connections
// whose requests are admitted.
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case l.ready.Len() > 0:
			next, late := l.nextReady()
			l.mu.Unlock()
			l.refuseTaken(late)
			l.mu.Lock()
			if next != nil {
				return l.newLane(next), nil
			}
			continue
		case l.err != nil && (l.closed || !l.draining.Load()):
			return nil, l.err
		}
		l.changed.Wait()
	}
}

// handler returns next for requests with the address of their client, and with responses
// that close their connection after CloseConnections.
func (l *Listener) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.draining.Load() {
			w.Header()["Connection"] = connectionClose
		}
		correctAddress(r)
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
	s := Stats{Busy: l.busy, Idle: l.open - l.busy - l.requests.Len(), Waiting: l.requests.Len(), Refused: l.refused}
	if s.Waiting > 0 {
		s.Wait, _ = l.forecast.Wait(time.Now(), s.Waiting)
	}
	return s
}
