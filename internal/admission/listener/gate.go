package listener

import "time"

// A verdict says what becomes of a request.
type verdict int

const (
	admitted verdict = iota
	waits            // for a place, or for its refusal
	refused
)

// arrive decides on the request of c, of whose header received is the end.
func (l *Listener) arrive(c *Conn, received []byte) verdict {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	c.arrived = now
	c.seen = false
	l.noteFresh(c, false)
	switch {
	case l.closed: // Accept returns nothing any more
		l.refused++
		return refused
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
	return n < l.Conns+l.places && l.forecast.Join(now, n, limits, time.Time{})
}

// admitNext gives the free places to the requests that wait.
func (l *Listener) admitNext() {
	for l.busy < l.places && l.requests.Len() > 0 {
		c := l.requests.Remove(l.requests.Front()).(*Conn)
		l.forecast.Leave(time.Now())
		l.setBusy(c, true)
		if c.served {
			c.settled <- true
		} else {
			c.waited = true
			l.pass(c)
		}
	}
}

// refuseLate refuses the requests that have waited for the longest time. The caller does not
// have the mutex.
func (l *Listener) refuseLate() {
	l.mu.Lock()
	late := l.takeLate(max(l.Limits.Burst, l.Limits.Standing))
	l.mu.Unlock()
	l.refuseTaken(late)
}

// takeLate takes the requests that have waited for so long, for refuseTaken. It settles those
// of connections that are served.
func (l *Listener) takeLate(longest time.Duration) (late []*Conn) {
	for e := l.requests.Front(); e != nil; e = l.requests.Front() {
		c := e.Value.(*Conn)
		if time.Since(c.arrived) < longest {
			break
		}
		l.requests.Remove(e)
		if c.served {
			c.settled <- false
			continue
		}
		l.refused++
		l.inHand++
		late = append(late, c)
	}
	return late
}

// refuseTaken is called without the mutex.
func (l *Listener) refuseTaken(late []*Conn) {
	for _, c := range late {
		l.refuseParked(c, isWhole(c.unread))
		l.handBack(c)
	}
}
