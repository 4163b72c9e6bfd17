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
		for c, hungUp := range seen {
			if c.hasEnded() {
				hungUp()
			}
		}
		if ended {
			tick.Stop()
			l.poller.close()
			return
		}
	}
}

// seenTwice returns the connections that work on the request that they worked on at the
// last call, with what ends its context. ended is true if there will be no more connections.
func (l *Listener) seenTwice() (seen map[*Conn]func(), ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen = map[*Conn]func(){}
	for c := range l.served {
		works := c.busy || c.freed
		if works && c.seen {
			seen[c] = c.hungUp
		}
		c.seen = works
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
