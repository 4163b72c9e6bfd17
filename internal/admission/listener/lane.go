package listener

import (
	"context"
	"net/http"
	"sync/atomic"

	"example.com/flashsale/internal/admission"
)

// A lane is what net/http takes for a connection. It serves one while there is a place for
// each. In a crowd it parks it between two requests and goes on with the next request that
// waits, of another connection. To net/http that is one more request of the same client. So
// there are hardly more lanes than places. To end a goroutine of net/http and to start one for
// each such request costs some 8 µs.
//
// Only the server's goroutine changes the connection, in Read, where nothing of a request
// before has been left: a response has been sent before it reads on, and neither the server
// nor the connection has a part of the next request. The address of the client is corrected
// in each request; http.LocalAddrContextKey stays that of the first connection.
type lane struct {
	*Conn              // changed with the Listener's mutex
	listener *Listener // that of each Conn, for those who do not have the mutex
	place    admission.Place
	moved    bool // has served another connection before
	mayMove  bool // before the next request

	// The context of all requests of the lane has ended, because a client has hung up or sent
	// half a body: the lane takes no more.
	ended  atomic.Bool
	hungUp func() // ends it; guarded by the Listener's mutex
}

// newLane returns the lane that serves c.
func (l *Listener) newLane(c *Conn) *lane {
	n := &lane{Conn: c, listener: l}
	n.place.Free = func() { l.free(n) }
	l.lanes[n] = struct{}{}
	return n
}

// Read implements net.Conn.
func (n *lane) Read(b []byte) (int, error) {
	if n.mayMove && len(n.unread) == 0 && n.isUnbegun(b) && !n.listener.moveOn(n) {
		return n.leave()
	}
	received, err := n.Conn.Read(b)
	if err != nil {
		n.ended.Store(true)
	}
	return received, err
}

// Close implements net.Conn. http.Server.Close and Shutdown call it at any time.
func (n *lane) Close() error {
	n.listener.mu.Lock()
	defer n.listener.mu.Unlock()
	return n.Conn.Close()
}

// moveOn parks the connection of n, and makes n serve the next one whose request has been
// admitted. If there is none, or n has ended, it does nothing, and returns false if n is surplus.
func (l *Listener) moveOn(n *lane) (goesOn bool) {
	l.mu.Lock()
	var next *Conn
	var late []*Conn
	if !n.ended.Load() {
		next, late = l.nextReady()
	}
	if next != nil {
		n.served = false
		l.parkIdle(n.Conn)
		n.Conn, n.moved = next, true
	}
	goesOn = next != nil || len(l.lanes) <= l.places || !l.isCrowded()
	l.mu.Unlock()
	l.refuseTaken(late)
	return goesOn
}

// isCrowded reports whether the lanes should serve those connections whose requests wait, instead
// of one connection each.
func (l *Listener) isCrowded() bool { return l.busy >= l.places || l.open > l.Conns }

// nextReady takes the next connection whose request has been admitted; nil if there is none.
// Those before it whose request cannot be made any more, after its wait, are for refuseTaken.
func (l *Listener) nextReady() (next *Conn, late []*Conn) {
	for l.ready.Len() > 0 {
		c := l.ready.Remove(l.ready.Front()).(*Conn)
		if !c.waited || !isWhole(c.unread) || !l.refuses(c.unread) {
			c.served = true
			return c, late
		}
		l.inHand++
		late = append(late, c)
		l.setBusy(c, false)
	}
	return nil, late
}

type laneKey struct{}

// context returns the context of the requests of n, which ends when the client hangs up.
func (n *lane) context(ctx context.Context) context.Context {
	ctx, hungUp := context.WithCancel(context.WithValue(ctx, laneKey{}, n))
	n.listener.mu.Lock()
	defer n.listener.mu.Unlock()
	n.hungUp = hungUp
	return admission.WithPlace(ctx, &n.place)
}

// correctAddress gives r the address of its own client, instead of the lane's first one.
func correctAddress(r *http.Request) {
	n, ok := r.Context().Value(laneKey{}).(*lane)
	if !ok || !n.moved {
		return
	}
	if n.address == "" {
		n.address = n.RemoteAddr().String()
	}
	r.RemoteAddr = n.address
}
