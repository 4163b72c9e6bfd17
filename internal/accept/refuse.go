package accept

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// refuseLate refuses the connections that have waited for maxWait. One that has
// sent nothing yet waits once more: its request may be on its way, and would reset
// the closed connection before the client has read the response.
func (l *Listener) refuseLate() {
	refused := 0
	for _, w := range l.removeLate() {
		if silent := discard(w.conn); silent && !w.again {
			l.enqueue(waiter{w.conn, time.Now(), true})
			continue
		}
		refuse(w.conn, l.refusal)
		refused++
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused += refused
	l.changed.Broadcast()
}

// removeLate removes the connections that have waited for maxWait from the
// queue. If others remain, refuseLate will run again.
func (l *Listener) removeLate() (late []waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.waiting.Front(); e != nil; e = l.waiting.Front() {
		w := e.Value.(waiter)
		if left := l.maxWait - time.Since(w.since); left > 0 {
			time.AfterFunc(left, l.refuseLate)
			break
		}
		l.waiting.Remove(e)
		l.granted = min(l.granted, l.waiting.Len())
		late = append(late, w)
	}
	return late
}

// refuse writes the response and closes c. It does not wait for a slow client: the
// response fits into the send buffer.
func refuse(c net.Conn, response []byte) {
	_ = c.SetWriteDeadline(time.Now().Add(time.Millisecond))
	_, _ = c.Write(response) // the client may have left
	_ = c.Close()
}

// discard reads what c has received so far, and reports whether that is nothing.
// The kernel resets a connection that is closed with unread data.
func discard(c net.Conn) (silent bool) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	buf := make([]byte, 4096)
	_ = raw.Read(func(fd uintptr) bool {
		n, err := syscall.Read(int(fd), buf)
		silent = errors.Is(err, syscall.EAGAIN)
		for n > 0 {
			n, _ = syscall.Read(int(fd), buf)
		}
		return true // not to wait for more
	})
	return silent
}
