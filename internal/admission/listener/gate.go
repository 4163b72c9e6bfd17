package listener

import (
	"bytes"
	"container/list"
	"time"

	"example.com/flashsale/internal/admission"
)

// admit returns when the server may work on the next request of c, which was idle and
// of whose header received is the end. It is false if the request is refused, because it
// would wait, or has waited, for too long.
func (l *Listener) admit(c *Conn, received []byte) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	c.place.Set(now)
	c.awaited, c.seen = false, false
	atEnd := bytes.HasSuffix(received, endOfRequest) // else the connection would be reset if it were closed now
	switch {
	case l.busy < l.places && l.requests.Len() == 0 && !l.connectionIsNext(), isProbe(received):
	case (l.mayWait(now) || !atEnd) && l.awaitPlace(c), !atEnd:
	default:
		l.refused++
		c.awaited = true
		return false
	}
	l.begin(c)
	return true
}

// refuses reports whether a request is refused although there may be a place for it.
func (l *Listener) refuses(request []byte) bool {
	return l.RefusesUnread != nil && l.RefusesUnread(request)
}

// mayWait reports whether one more request may wait.
func (l *Listener) mayWait(now time.Time) bool {
	return l.requested.Join(now, l.requests.Len(), l.requestLimits(now), time.Time{})
}

// requestLimits are those of the queue of requests. While no connection has to wait, it
// may always be as long as that of a burst: it has at most one request of each open
// connection, so it does not grow when requests come faster than they are served.
func (l *Listener) requestLimits(now time.Time) admission.Limits {
	if l.waiting.Len() > 0 || l.forecast.Refuses(now) {
		return l.limits
	}
	return admission.Limits{Burst: l.limits.Burst, Standing: l.limits.Burst}
}

// awaitPlace makes the request of c wait, and reports whether the server works on it
// then. It unlocks the mutex meanwhile.
func (l *Listener) awaitPlace(c *Conn) bool {
	c.admitted = make(chan struct{})
	waiter := l.requests.PushBack(c)
	late := time.NewTimer(l.longest())
	l.mu.Unlock()
	select {
	case <-c.admitted:
	case <-late.C:
	}
	late.Stop()
	l.mu.Lock()
	if !c.busy {
		l.requests.Remove(waiter)
	}
	return c.busy
}

// admitNext gives the free places to the requests that wait, unless a connection that
// waits has come before them.
func (l *Listener) admitNext() {
	for l.busy < l.places && l.requests.Len() > 0 && !l.connectionIsNext() {
		c := l.requests.Remove(l.requests.Front()).(*Conn)
		l.requested.Leave(time.Now())
		l.setBusy(c, true)
		close(c.admitted)
	}
}

// connectionIsNext reports whether Accept may return the connection that has waited
// longest: there is a place for it, and no request has waited for longer.
func (l *Listener) connectionIsNext() bool {
	return l.waiting.Len() > 0 && !l.paused && l.hasRoom() &&
		(l.requests.Len() == 0 || !arrival(&l.requests).Before(arrival(&l.waiting)))
}

// arrival returns when the first of a queue arrived.
func arrival(queue *list.List) time.Time { return queue.Front().Value.(*Conn).place.Time() }
