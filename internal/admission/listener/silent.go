package listener

import (
	"cmp"
	"container/list"
	"net/http"
	"time"
)

// evict drops a connection that has been parked for a while: the one that has been idle for
// longest, or else one whose header has not ended. It looks at each before, because the poller
// may not have told yet of what has arrived there.
func (l *Listener) evict() bool {
	for range mostLooks {
		front := l.idle.Front()
		if front == nil || !l.waitedFor(front, shortestIdle) {
			break
		}
		c := front.Value.(*Conn)
		if !c.hasArrived() {
			l.drop(c)
			return true
		}
		c.since = time.Now() // it is idle no more
		l.idle.MoveToBack(front)
	}
	for e := l.beginning.Front(); e != nil; e = e.Next() { // not in the order of their age
		if c := e.Value.(*Conn); l.waitedFor(e, shortestIdle) && !c.hasArrived() {
			l.drop(c)
			return true
		}
	}
	return false
}

// mostLooks bounds how many idle connections are looked at for a new one.
const mostLooks = 100

// shortestIdle is how long a connection is parked at least before another one takes its
// place. A client that has just got a response may be sending its next request.
const shortestIdle = time.Second

// dropSilent drops the connections that have been parked for too long. The caller does not
// have the mutex.
func (l *Listener) dropSilent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.idle.Front(); e != nil && l.waitedFor(e, l.idleTime()); e = l.idle.Front() {
		l.drop(e.Value.(*Conn))
	}
	var next *list.Element
	for e := l.beginning.Front(); e != nil; e = next { // a client that sends byte by byte is last again
		if next = e.Next(); l.waitedFor(e, l.headerTime()) {
			l.drop(e.Value.(*Conn))
		}
	}
}

func (l *Listener) waitedFor(e *list.Element, longest time.Duration) bool {
	return longest > 0 && time.Since(e.Value.(*Conn).since) > longest
}

// idleTime and headerTime return how long the server waits for a request, and for all of
// its header; 0 is without end.
func (l *Listener) idleTime() time.Duration {
	return cmp.Or(l.server.IdleTimeout, l.server.ReadTimeout)
}

func (l *Listener) headerTime() time.Duration {
	return cmp.Or(l.server.ReadHeaderTimeout, l.server.ReadTimeout)
}

// longestHeader returns how many bytes net/http reads of a header at most: on a lane that has
// moved on, one buffer more than its limit, which has one.
func (l *Listener) longestHeader() int {
	return cmp.Or(max(0, l.server.MaxHeaderBytes), http.DefaultMaxHeaderBytes) + 2*serverBuffer
}
