package zklock

import (
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A session is what is known of the locker's ZooKeeper session.
//
// ZooKeeper ends a session that it has not heard of for the session timeout. It
// has heard of it at least at the time when the latest request was sent that it
// has replied to. So the leases are believed until nine tenths of the timeout
// after that, whatever becomes of the connection meanwhile; after that they are
// lost. A reply that was read late, by a process that was stopped, prolongs
// nothing, and neither does a request that waits to be written.
type session struct {
	mu         sync.Mutex
	timeout    time.Duration // the one granted; before, the one asked for
	heard      time.Time     // when that request was sent; at first when the session was opened
	handshakes int           // since the last successful one
	connected  chan struct{} // closed while connected
	lost       chan struct{} // closed when the leases of this session are lost
	expiry     *time.Timer
	closed     bool
}

func newSession(timeout time.Duration) *session {
	s := &session{timeout: timeout, heard: time.Now(), connected: make(chan struct{}), lost: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expiry = time.AfterFunc(s.left(), s.expire)
	return s
}

// left is how long the leases are still believed. The caller holds mu.
func (s *session) left() time.Duration { return time.Until(s.heard.Add(s.timeout - s.timeout/10)) }

// nextHandshake returns how long the next handshake may take. It begins with a
// twentieth of the timeout: a client that has noticed a silent server, after
// two thirds of the timeout, can then try others before its leases are lost. It
// doubles from one failed handshake to the next, so that a slow server is not
// given up for ever.
func (s *session) nextHandshake() time.Duration {
	const shortest = 200 * time.Millisecond
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handshakes++
	return min(max(s.timeout/20, shortest)<<min(s.handshakes-1, 4), s.timeout/2)
}

func (s *session) grantedTimeout() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.timeout
}

// states returns the channel that is closed as soon as there is a connection,
// and the one that is closed when leases acquired from now on are lost.
func (s *session) states() (connected, lost <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connected, s.lost
}

// believes reports whether leases that are lost with lost are still held. The
// timer that closes lost may be late.
func (s *session) believes(lost <-chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !isClosed(lost) && s.left() > 0
}

// granted records the timeout that a server has granted.
func (s *session) granted(timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timeout, s.handshakes = timeout, 0
	s.expiry.Reset(s.left())
}

// replied records a reply to a request that was sent at sent. After a stall that
// has cost the leases, the session may still be alive: later leases are those of
// a session that has just begun.
func (s *session) replied(sent time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sent.After(s.heard) {
		s.heard = sent
	}
	if isClosed(s.connected) {
		s.begin()
	}
}

// begin makes leases possible again after a loss. The caller holds mu.
func (s *session) begin() {
	if isClosed(s.lost) && !s.closed && s.left() > 0 {
		s.lost = make(chan struct{})
		s.expiry.Reset(s.left())
	}
}

// expire declares the leases lost, unless a reply has come meanwhile.
func (s *session) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := s.left(); left > 0 && !s.closed {
		s.expiry.Reset(left)
		return
	}
	s.loseLeases()
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
		s.begin()
		if !isClosed(s.connected) {
			close(s.connected)
		}
	case zk.StateDisconnected:
		if isClosed(s.connected) {
			s.connected = make(chan struct{})
		}
	case zk.StateExpired:
		s.loseLeases()
	}
}

func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.expiry.Stop()
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
