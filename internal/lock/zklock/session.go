package zklock

import (
	"encoding/binary"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A session tracks whether the locker's ZooKeeper session is alive.
//
// While the client is disconnected, the session is suspended: ZooKeeper reports
// that a session has expired only after its client has reconnected. The client
// detects a silent server after two thirds of the session timeout at the
// latest. So the leases stay valid for a grace period of less than a third of
// the timeout. After that the session declares them lost.
type session struct {
	mu        sync.Mutex
	grace     time.Duration
	lost      chan struct{} // closed when the leases of this session are lost
	suspended *time.Timer   // runs for grace; nil while connected
}

// lostChan returns the channel that is closed when leases acquired from now on
// are lost.
func (s *session) lostChan() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// handleEvent is called by the client for every event.
func (s *session) handleEvent(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.State {
	case zk.StateHasSession:
		if s.suspended != nil {
			s.suspended.Stop()
			s.suspended = nil
		}
		if isClosed(s.lost) {
			s.lost = make(chan struct{})
		}
	case zk.StateDisconnected:
		if s.suspended == nil {
			s.suspended = time.AfterFunc(s.grace, s.expireSuspended)
		}
	case zk.StateExpired:
		s.loseLeases()
	}
}

// expireSuspended declares all leases lost, unless the client has reconnected
// meanwhile.
func (s *session) expireSuspended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.suspended != nil {
		s.loseLeases()
	}
}

func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loseLeases()
}

// loseLeases declares all leases lost. The caller holds mu.
func (s *session) loseLeases() {
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

// A connectResponseReader is a connection that reads the session timeout,
// which the server decides, from the server's first message: the client does
// not expose it. The message begins with its length, the protocol version and
// the timeout in milliseconds, of four bytes each.
type connectResponseReader struct {
	net.Conn
	session *session
	header  []byte
}

const connectResponseHeader = 12 // bytes

func (s *session) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	return &connectResponseReader{Conn: conn, session: s}, nil
}

func (r *connectResponseReader) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	if len(r.header) < connectResponseHeader {
		r.header = append(r.header, b[:n]...)
		if len(r.header) >= connectResponseHeader {
			r.session.setTimeout(binary.BigEndian.Uint32(r.header[8:connectResponseHeader]))
		}
	}
	return n, err
}

// setTimeout derives the grace period from the session timeout. A timeout of
// zero belongs to a session that has expired.
func (s *session) setTimeout(ms uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ms > 0 {
		s.grace = time.Duration(ms) * time.Millisecond / 4
	}
}
