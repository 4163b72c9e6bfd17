package listener

import "time"

// A verdict says what becomes of a request.
type verdict int

const (
	admitted verdict = iota
	waits            // settle will say more
	refused
)

// arrive decides on the request of c, of whose header received is the end.
func (l *Listener) arrive(c *Conn, received []byte) verdict {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	c.place.Set(now)
	c.seen = false
	l.noteFresh(c, false)
	switch {
	case l.busy < l.places && l.requests.Len() == 0, isProbe(received):
		l.setBusy(c, true)
		return admitted
	case l.mayWait(now):
		l.requests.PushBack(c)
		return waits
	default:
		l.refused++
		return refused
	}
}

// refuses reports whether a request is refused although there may be a place for it.
func (l *Listener) refuses(request []byte) bool {
	return l.RefusesUnread != nil && l.RefusesUnread(request)
}

// mayWait reports whether one more request may wait. While no more than Conns connections
// are open, the queue may always be as long as that of a burst: clients that send a request
// after each response do not make it grow.
func (l *Listener) mayWait(now time.Time) bool {
	n, limits := l.requests.Len(), l.Limits
	if l.open <= l.Conns {
		limits.Standing = limits.Burst
	}
	return n < waitingShare*l.Conns && l.forecast.Join(now, n, limits, time.Time{})
}

// admitNext gives the free places to the requests that wait.
func (l *Listener) admitNext() {
	for l.busy < l.places && l.requests.Len() > 0 {
		c := l.requests.Remove(l.requests.Front()).(*Conn)
		l.forecast.Leave(time.Now())
		l.setBusy(c, true)
		l.settle(c, true)
	}
}

// refuseLate refuses the requests that have waited for the longest time.
func (l *Listener) refuseLate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest := max(l.Limits.Burst, l.Limits.Standing)
	for e := l.requests.Front(); e != nil; e = l.requests.Front() {
		c := e.Value.(*Conn)
		if time.Since(c.place.Time()) < longest {
			return
		}
		l.requests.Remove(e)
		l.settle(c, false)
	}
}

// settle says what becomes of the request of c, which has waited.
func (l *Listener) settle(c *Conn, admitted bool) {
	switch {
	case c.served:
		c.settled <- admitted
	case admitted:
		l.pass(c)
	default:
		l.refused++
		l.inHand++
		go func() {
			l.refuseParked(c, isWhole(c.unread))
			l.handBack()
		}()
	}
}
