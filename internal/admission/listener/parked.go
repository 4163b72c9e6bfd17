package listener

import (
	"cmp"
	"container/list"
	"errors"
	"net/http"
	"syscall"
	"time"
)

// A parked connection has no goroutine and no buffer. It is in one of two queues: idle, if
// nothing has arrived since the last response, or else beginning. Whoever takes it out of
// its queue owns it. The methods here are called with the mutex unless they say otherwise.

// parkIdle parks c until its next request.
func (l *Listener) parkIdle(c *Conn) {
	c.idle, c.begun, c.unread = true, false, c.unread[:0]
	c.since = time.Now()
	l.park(c, &l.idle)
}

// parkBeginning parks c until the rest of its header.
func (l *Listener) parkBeginning(c *Conn) {
	if c.queue != &l.beginning {
		c.since = time.Now()
	}
	l.park(c, &l.beginning)
}

func (l *Listener) park(c *Conn, queue *list.List) {
	if l.closed || l.poller.await(c) != nil {
		l.drop(c)
		return
	}
	c.queue, c.parked = queue, queue.PushBack(c)
}

// unpark reports whether c was parked.
func (l *Listener) unpark(c *Conn) bool {
	parked := c.parked != nil
	if parked {
		c.queue.Remove(c.parked)
		c.parked = nil
	}
	return parked
}

// receiveAll works on what arrives at parked connections until the poller is closed. The
// caller does not have the mutex.
func (l *Listener) receiveAll() {
	buf := make([]byte, serverBuffer)
	l.poller.each(func(c *Conn) {
		l.mu.Lock()
		parked := l.unpark(c)
		l.mu.Unlock()
		if parked {
			l.receive(c, buf)
		}
	})
}

// receive reads what has arrived at c, and decides on its request if that is all of its
// header. The caller does not have the mutex.
func (l *Listener) receive(c *Conn, buf []byte) {
	n, err := c.receive(buf)
	c.unread = append(c.unread, buf[:n]...)
	if n > 0 && (endsHeader(c.unread) || len(c.unread) > l.longestHeader()) {
		l.decide(c)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case n > 0 || c.fresh && errors.Is(err, syscall.EAGAIN):
		l.parkBeginning(c)
	case errors.Is(err, syscall.EAGAIN):
		l.park(c, c.queue)
	default:
		l.drop(c)
	}
}

// decide decides on the request of c. The caller does not have the mutex.
func (l *Listener) decide(c *Conn) {
	whole := isWhole(c.unread)
	if whole && l.refuses(c.unread) {
		l.refuseParked(c, whole)
		return
	}
	switch l.arrive(c, c.unread) {
	case admitted:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pass(c)
	case refused:
		l.refuseParked(c, whole)
	}
}

// refuseParked responds to the request of c. The caller does not have the mutex.
func (l *Listener) refuseParked(c *Conn, whole bool) {
	stays := c.refuse(c.unread, whole)
	l.mu.Lock()
	defer l.mu.Unlock()
	if stays {
		l.parkIdle(c)
	} else {
		l.drop(c)
	}
}

// pass makes Accept return c, whose request has been admitted.
func (l *Listener) pass(c *Conn) {
	c.idle, c.passed = false, true
	l.ready.PushBack(c)
	l.changed.Broadcast()
}

// drop ends a connection that the server does not have.
func (l *Listener) drop(c *Conn) {
	l.forget(c)
	if c.lingers {
		l.linger(c)
	} else {
		_ = c.Conn.Close()
	}
}

// forget no longer counts c, which ends.
func (l *Listener) forget(c *Conn) {
	l.open--
	l.unpark(c)
	l.noteFresh(c, false)
	l.poller.forget(c)
	l.changed.Broadcast()
}

// evict drops the connection that has been parked for longest, if that is a while.
func (l *Listener) evict() bool {
	for _, queue := range []*list.List{&l.idle, &l.beginning} {
		if front := queue.Front(); front != nil && time.Since(front.Value.(*Conn).since) > shortestIdle {
			l.drop(front.Value.(*Conn))
			return true
		}
	}
	return false
}

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

// longestHeader returns how many bytes net/http reads of a header at most.
func (l *Listener) longestHeader() int {
	return cmp.Or(max(0, l.server.MaxHeaderBytes), http.DefaultMaxHeaderBytes) + serverBuffer
}
