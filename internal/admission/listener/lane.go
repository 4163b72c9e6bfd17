package listener

import (
	"context"
	"net/http"

	"example.com/flashsale/internal/admission"
)

// A lane is what net/http takes for a connection. It serves one until that is surplus and has
// no request: then it parks it and goes on with the next request that waits, of another
// connection. To net/http that is one more request of the same client. A goroutine and
// buffers for each such request, and their end, would cost a fifth of a claim.
//
// Only the server's goroutine changes the connection, in Read, where nothing of a request
// before has been left: a response has been sent before it reads on, and its buffer is empty.
type lane struct {
	*Conn // changed with the Listener's mutex
	place admission.Place
	moved bool // has served another connection before

	// Guarded by the Listener's mutex.
	hungUp func() // ends the context of the lane's requests, and of all that would come
	ended  bool   // has been hung up: takes no other connection
}

// newLane returns the lane that serves c.
func (l *Listener) newLane(c *Conn) *lane {
	n := &lane{Conn: c}
	n.place.Free = func() { l.free(n) }
	l.lanes[n] = struct{}{}
	return n
}

// Read implements net.Conn.
func (n *lane) Read(b []byte) (int, error) {
	if n.surplus && n.isUnbegun(b) && !n.listener.moveOn(n) {
		return n.leave()
	}
	return n.Conn.Read(b)
}

// Close implements net.Conn. http.Server.Close and Shutdown call it at any time.
func (n *lane) Close() error {
	n.listener.mu.Lock()
	defer n.listener.mu.Unlock()
	return n.Conn.Close()
}

// moveOn parks the connection of n, and makes n serve the next one whose request has been
// admitted. It returns false, and does nothing, if there is none or if n is to end.
func (l *Listener) moveOn(n *lane) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n.ended {
		return false
	}
	next := l.nextReady()
	if next == nil {
		return false
	}
	n.served = false
	l.parkIdle(n.Conn)
	n.Conn, n.moved = next, true
	return true
}

// nextReady takes the next connection whose request has been admitted, or returns nil. It
// refuses what cannot be made any more, after the wait.
func (l *Listener) nextReady() *Conn {
	for l.ready.Len() > 0 {
		c := l.ready.Remove(l.ready.Front()).(*Conn)
		if !c.waited || !isWhole(c.unread) || !l.refuses(c.unread) {
			c.served = true
			return c
		}
		l.inHand++
		l.setBusy(c, false)
		l.mu.Unlock()
		l.refuseParked(c, true)
		l.handBack(c)
		l.mu.Lock()
	}
	return nil
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
