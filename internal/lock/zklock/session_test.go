package zklock

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

// mustOpen opens a locker of the shared server, which grants session timeouts of
// up to a minute.
func mustOpen(t *testing.T, timeout time.Duration) *Locker {
	t.Helper()
	l, err := Open([]string{labtest.SharedZooKeeper(t).Address}, timeout)
	check.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

// A lease that is counted on for longer than its session lasts would be kept
// beside the next holder's.
func TestTTLBeyondTheGrantedSessionTimeoutIsRefused(t *testing.T) {
	t.Parallel()
	l, key := mustOpen(t, time.Hour), labtest.Name(t)
	lease, err := l.TryLock(t.Context(), key, time.Minute)
	if err != nil {
		t.Fatalf("TryLock with the granted timeout: %v", err)
	}
	defer func() { _ = lease.Release(context.Background()) }()
	for what, err := range map[string]error{
		"TryLock": second(l.TryLock(t.Context(), key, time.Minute+1)),
		"Lock":    second(l.Lock(t.Context(), key+"2", time.Minute+1)),
		"Extend":  lease.Extend(t.Context(), time.Minute+1),
		"Ping":    l.Ping(t.Context()),
	} {
		if !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
}

func second(_ lock.Lease, err error) error { return err }

// packet returns what the server sends: an id, the four bytes that follow, and
// the rest of a reply.
func packet(id, next uint32) []byte {
	b := make([]byte, 20)
	binary.BigEndian.PutUint32(b, 16)
	binary.BigEndian.PutUint32(b[4:], id)
	binary.BigEndian.PutUint32(b[8:], next)
	return b
}

// A reply may have waited in a buffer while this process was stopped, and a
// request while the connection was congested. Both prolong the session only from
// when the request was sent.
func TestSessionIsCountedFromTheRequestThatWasRepliedTo(t *testing.T) {
	t.Parallel()
	s := newSession(time.Minute)
	defer s.close()
	client, server := net.Pipe()
	defer client.Close()
	c := &connection{Conn: client, session: s, handshake: time.Now().Add(time.Minute)}
	go func() { _, _ = server.Read(make([]byte, 1)) }() // a write ends when it has been read
	send := func(b []byte) {
		go func() { _, _ = server.Write(b) }()
		for left := len(b); left > 0; { // in pieces, as TCP may deliver them
			n, err := c.Read(make([]byte, min(left, 7)))
			check.NoError(t, err)
			left -= n
		}
	}
	write := func() (before, after time.Time) {
		before = time.Now()
		go func() { _, _ = server.Read(make([]byte, 1)) }()
		if _, err := c.Write([]byte{0}); err != nil {
			t.Fatal(err)
		}
		return before, time.Now()
	}
	heard := func(what string, before, after time.Time) {
		t.Helper()
		if s.heard.Before(before) || s.heard.After(after) {
			t.Errorf("%s: counted from %s, want between %s and %s", what, s.heard, before, after)
		}
	}
	handshake, afterHandshake := write()
	send(packet(0, 40_000))
	if s.grantedTimeout() != 40*time.Second {
		t.Errorf("timeout %s, want the 40 s of the server's reply", s.grantedTimeout())
	}
	heard("after the handshake", handshake, afterHandshake)
	first, afterFirst := write()
	_, _ = write()
	send(packet(watchEventID, 0))
	heard("after a watch's event", handshake, afterHandshake)
	time.Sleep(time.Millisecond)
	send(packet(1, 0))
	heard("after the reply to the first of two requests", first, afterFirst)
}

// The timer that declares the leases lost may be late.
func TestLeaseIsNotBelievedAfterItsDeadlineAlthoughItsTimerIsLate(t *testing.T) {
	t.Parallel()
	s := newSession(time.Minute)
	defer s.close()
	_, lost := s.states()
	if !s.believes(lost) {
		t.Error("a new session is not believed")
	}
	s.mu.Lock()
	s.heard = s.heard.Add(-time.Minute * 9 / 10)
	s.mu.Unlock()
	if s.believes(lost) {
		t.Error("a session is believed nine tenths of its timeout after the last reply")
	}
}

// A stall may be over before the connection is given up.
func TestReplyAfterAStallMakesNewLeasesPossible(t *testing.T) {
	t.Parallel()
	s := newSession(time.Minute)
	defer s.close()
	s.handleEvent(zk.Event{Type: zk.EventSession, State: zk.StateHasSession})
	_, before := s.states()
	s.mu.Lock()
	s.heard = s.heard.Add(-time.Minute)
	s.mu.Unlock()
	s.expire()
	s.replied(time.Now())
	_, after := s.states()
	if s.believes(before) || !s.believes(after) {
		t.Errorf("leases from before the stall are believed: %t, from after it: %t", s.believes(before),
			s.believes(after))
	}
}
