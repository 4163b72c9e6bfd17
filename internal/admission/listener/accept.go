package listener

import (
	"errors"
	"log"
	"net"
	"syscall"
	"time"
)

// acceptAll accepts until the listener is closed or fails for good.
func (l *Listener) acceptAll() {
	buf := make([]byte, serverBuffer)
	for {
		conn, err := l.Listener.Accept()
		switch {
		case err == nil:
			if c := l.take(conn); c != nil {
				l.receive(c, buf) // a client seldom waits before it sends its request
			}
		case isTemporary(err):
			l.log(err)
			time.Sleep(acceptPause)
		default:
			l.mu.Lock()
			defer l.mu.Unlock()
			l.err = err
			l.changed.Broadcast()
			return
		}
	}
}

// acceptPause is how long the Listener waits after an error of accept, which is mostly for
// want of open files.
const acceptPause = 100 * time.Millisecond

// log logs an error where the server logs its own.
func (l *Listener) log(err error) {
	if l.server.ErrorLog != nil {
		l.server.ErrorLog.Print(err)
	} else {
		log.Print(err)
	}
}

func isTemporary(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && errno.Temporary()
}

// take makes a connection of one that has just been accepted. It is nil if the connection
// is refused, because too many are open and none of them is idle.
func (l *Listener) take(conn net.Conn) *Conn {
	c, err := l.newConn(conn)
	if err != nil {
		l.log(err)
		_ = conn.Close()
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= openShare*l.Conns && !l.evict() {
		l.refuseNew(c)
		return nil
	}
	l.open++
	l.noteFresh(c, true)
	return c
}
