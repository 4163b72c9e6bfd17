package zklock

import (
	"encoding/binary"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A session is what is known of the locker's own.
//
// While the connection is interrupted, the session is in doubt: nobody tells a
// client that its session has expired before it has come back. The client
// notices silence after two thirds of the timeout at the latest; so it may
// count on another grace of less than a third, after which all leases are
// called lost.
type session struct {
	mu    sync.Mutex
	grace time.Duration
	lost  chan struct{} // closed with the leases that were made under it
	doubt *time.Timer   // nil unless in doubt
}

// current is closed when leases made from now on are lost.
func (s *session) current() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// observe is called for every change of state.
func (s *session) observe(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.State {
	case zk.StateHasSession:
		if s.doubt != nil {
			s.doubt.Stop()
			s.doubt = nil
		}
		if isClosed(s.lost) {
			s.lost = make(chan struct{})
		}
	case zk.StateDisconnected:
		if s.doubt == nil {
			s.doubt = time.AfterFunc(s.grace, s.despair)
		}
	case zk.StateExpired:
		s.end()
	}
}

// despair calls all leases lost, unless the doubt has been resolved meanwhile.
func (s *session) despair() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doubt != nil {
		s.end()
	}
}

func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}

// end calls all leases lost. It is called with mu locked.
func (s *session) end() {
	if !isClosed(s.lost) {
		close(s.lost)
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// A greeting is a connection that listens for the session's timeout, which the
// server settles and the client keeps to itself: the first message says length,
// protocol and timeout, in four bytes each.
type greeting struct {
	net.Conn
	session *session
	heard   []byte
}

const greeted = 12

func (s *session) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	return &greeting{Conn: conn, session: s}, nil
}

func (g *greeting) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if len(g.heard) < greeted {
		g.heard = append(g.heard, b[:n]...)
		if len(g.heard) >= greeted {
			g.session.settle(binary.BigEndian.Uint32(g.heard[8:greeted]))
		}
	}
	return n, err
}

// settle takes the timeout, unless it is the zero of a session that is over.
func (s *session) settle(ms uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ms > 0 {
		s.grace = time.Duration(ms) * time.Millisecond / 4
	}
}
