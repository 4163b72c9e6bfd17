package listener

import (
	"bytes"
	"container/list"
	"errors"
	"syscall"
	"time"
)

// A parked connection has no goroutine and no buffer. It is in one of two queues: idle, if
// nothing has arrived since the last response, or else beginning. Whoever takes it out of
// its queue owns it. The methods here are called with the mutex unless they say otherwise.

// parkIdle parks c until its next request.
func (l *Listener) parkIdle(c *Conn) {
	c.idle, c.begun, c.waited, c.unread = true, false, false, c.unread[:0]
	if cap(c.unread) > usualHeader {
		c.unread = nil
	}
	c.since = time.Now()
	l.park(c, &l.idle)
}

// usualHeader is how many bytes an idle connection may keep for its next header.
const usualHeader = 1024

// parkBeginning parks c until the rest of its header. It refuses the request if too much has
// been received of headers that have not ended.
func (l *Listener) parkBeginning(c *Conn) {
	if c.queue != &l.beginning {
		c.since = time.Now()
	}
	if l.held+cap(c.unread) > l.Conns*serverBuffer {
		l.refused++
		c.refuse(c.unread, false)
		l.drop(c)
		return
	}
	l.park(c, &l.beginning)
}

func (l *Listener) park(c *Conn, queue *list.List) {
	if l.closed {
		l.drop(c)
		return
	}
	if err := l.poller.await(c); err != nil {
		l.log(err)
		l.drop(c)
		return
	}
	c.queue, c.parked = queue, queue.PushBack(c)
	l.hold(c, cap(c.unread))
}

// hold notes that a connection that begins holds more bytes.
func (l *Listener) hold(c *Conn, more int) {
	if c.queue == &l.beginning {
		l.held += more
	}
}

// unpark reports whether c was parked.
func (l *Listener) unpark(c *Conn) bool {
	parked := c.parked != nil
	if parked {
		c.queue.Remove(c.parked)
		c.parked = nil
		l.hold(c, -cap(c.unread))
	}
	return parked
}

// receiveAll works on what arrives at parked connections until the poller is closed. The
// caller does not have the mutex.
func (l *Listener) receiveAll() {
	buf := make([]byte, serverBuffer)
	l.poller.each(func(c *Conn, stops bool) {
		if l.takeInHand(c, stops) {
			l.receive(c, buf)
			l.handBack(c)
		}
	})
}

// takeInHand reports whether c, of which the poller has told, was parked. Drain waits until
// handBack is called then. stops is whether the next read may stop before all that has arrived.
// The caller does not have the mutex.
func (l *Listener) takeInHand(c *Conn, stops bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	parked := l.unpark(c)
	if parked {
		l.inHand++
	}
	c.missed = c.missed || stops || !parked
	return parked
}

// handBack is called after takeInHand, without the mutex.
func (l *Listener) handBack(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inHand--
	if l.draining.Load() {
		l.changed.Broadcast()
	}
}

// receive reads what has arrived at c, and decides on its request if that is all of its
// header. The caller does not have the mutex.
func (l *Listener) receive(c *Conn, buf []byte) {
	n, err := c.receive(buf)
	c.missed = c.missed || n == len(buf) // there may be more
	c.unread = append(c.unread, buf[:n]...)
	if !c.fresh { // line breaks behind the body of a POST
		c.unread = bytes.TrimLeft(c.unread, "\r\n")
	}
	if n > 0 && (endsHeader(c.unread) || len(c.unread) > l.longestHeader()) {
		l.decide(c)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case n > 0 && len(c.unread) == 0:
		l.parkIdle(c)
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
	l.noteFresh(c, false)
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
