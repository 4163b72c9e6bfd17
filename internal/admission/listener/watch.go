package listener

import (
	"errors"
	"syscall"
	"time"
)

// watchInterval is how often the Listener looks for connections that have waited for too
// long and for clients that have hung up. It looks at a request that it has seen before, so
// most claims end without a look.
const watchInterval = 100 * time.Millisecond

// watch looks until the last connection of a closed listener is closed. It ends the contexts
// of requests whose clients have hung up.
func (l *Listener) watch() {
	for tick := time.NewTicker(watchInterval); ; {
		<-tick.C
		l.refuseLate()
		l.dropSilent()
		seen, ended := l.seenTwice()
		for n, c := range seen {
			if c.hasEnded() {
				l.hangUp(n, c)
			}
		}
		if ended {
			tick.Stop()
			l.poller.close()
			return
		}
	}
}

// hangUp ends the context of n's request, if it is still one of c.
func (l *Listener) hangUp(n *lane, c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n.Conn == c && n.hungUp != nil {
		n.ended.Store(true)
		n.hungUp()
	}
}

// seenTwice returns the connections that work on the request that they worked on at the
// last call, by their lanes. ended is true if there will be no more connections.
func (l *Listener) seenTwice() (seen map[*lane]*Conn, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen = map[*lane]*Conn{}
	for n := range l.lanes {
		works := n.busy || n.freed
		if works && n.seen {
			seen[n] = n.Conn
		}
		n.seen = works
	}
	return seen, l.err != nil && l.open+l.refusals == 0
}

// hasEnded reports whether the client has closed its side, and all that it has sent
// was read. As net/http does, it takes a client that only writes no more for one that
// has left.
func (c *Conn) hasEnded() bool {
	n, err := c.peek(make([]byte, 1))
	return n == 0 && err == nil || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
