package listener

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/admission"
)

// openWaiting opens n parked connections. The first has a request that is worked on, and
// those of the others wait.
func openWaiting(t *testing.T, s *site, n int) []net.Conn {
	t.Helper()
	conns := []net.Conn{openParked(t, s)}
	for range n - 1 {
		conns = append(conns, s.openIdle(t))
	}
	for i, c := range conns {
		request(t, c)
		s.await(t, "busy, or waits", func(st Stats) bool { return st.Busy+st.Waiting == i+1 })
	}
	return conns
}

// moved returns the lanes that have served more than one connection.
func (s *site) moved() (lanes []*lane) {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	for n := range s.queue.lanes {
		if n.moved {
			lanes = append(lanes, n)
		}
	}
	return lanes
}

func TestLaneGoesOnWithTheNextRequest(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	conns := openWaiting(t, s, 4)
	served, last := s.countServed(), ""
	for i, c := range conns {
		s.next <- struct{}{}
		resp := response(t, c)
		if got, want := resp.Header.Get("Client"), c.LocalAddr().String(); resp.StatusCode != 200 || got != want {
			t.Errorf("request %d: status %d, of the client %s, want %s", i, resp.StatusCode, got, want)
		}
		if arrived := resp.Header.Get("Received"); arrived <= last {
			t.Errorf("request %d arrived at %s, the one before at %s", i, arrived, last)
		} else {
			last = arrived
		}
		if got := s.countServed(); i < len(conns)-1 && (got != served || len(s.moved()) > 1) {
			t.Errorf("request %d: the server has %d connections, want %d", i, got, served)
		}
	}
	s.await(t, "all idle", func(st Stats) bool { return st.Busy == 0 })
	for i, c := range conns {
		request(t, c)
		s.await(t, "busy, or waits", func(st Stats) bool { return st.Busy+st.Waiting == i+1 })
	}
	for _, c := range conns {
		s.next <- struct{}{}
		if got := status(t, c); got != 200 {
			t.Errorf("status %d of a request after that", got)
		}
	}
}

// What a look has found is no longer so when the lane has gone on.
func TestHangUpEndsNoRequestOfAnotherClient(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	c, next := openParked(t, s), s.openIdle(t)
	request(t, c)
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	if _, err := io.WriteString(next, "GET /forever HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	s.await(t, "the next one waits", func(st Stats) bool { return st.Waiting == 1 })
	var seen map[*lane]*Conn
	for len(seen) == 0 {
		seen, _ = s.queue.seenTwice()
	}
	s.next <- struct{}{}
	status(t, c)
	s.await(t, "the next one has begun", func(st Stats) bool { return st.Busy == 1 && st.Waiting == 0 })
	if len(s.moved()) != 1 {
		t.Fatal("no lane has moved")
	}
	for n, c := range seen {
		s.queue.hangUp(n, c)
	}
	time.Sleep(50 * time.Millisecond) // in which it would end
	if st := s.queue.Stats(); st.Busy != 1 {
		t.Errorf("%+v: the next request has ended", st)
	}
	_ = next.Close()
	s.await(t, "its own client's hang-up ends it", func(st Stats) bool { return st.Busy == 0 })
}

// The lane's context has ended, and with it all requests that it would serve.
func TestLaneEndsAfterAHangUp(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	c := openParked(t, s)
	if _, err := io.WriteString(c, "GET /forever HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	next := s.openIdleBeside(t)
	request(t, next)
	s.await(t, "the next one waits", func(st Stats) bool { return st.Waiting == 1 })
	_ = c.Close()
	s.next <- struct{}{}
	if got := status(t, next); got != 200 {
		t.Errorf("status %d", got)
	}
	if moved := s.moved(); len(moved) > 0 {
		t.Error("a lane whose context has ended goes on")
	}
}

// openIdleBeside opens a connection that sends nothing yet.
func (s *site) openIdleBeside(t *testing.T) net.Conn {
	t.Helper()
	open := s.queue.Stats().Idle
	c := s.open(t, "")
	s.await(t, "open", func(st Stats) bool { return st.Idle == open+1 })
	return c
}

// What could be made when it arrived may be sold out, or have too many before it, now.
func TestRequestIsRefusedUnreadAfterItsWait(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	s := startWith(t, 1, admission.Limits{Burst: time.Minute, Standing: time.Minute}, func(s *site) {
		s.cfg.RefusesUnread = func([]byte) bool { return full.Load() }
	})
	conns := openWaiting(t, s, 4)
	full.Store(true)
	s.next <- struct{}{}
	if got := status(t, conns[0]); got != 200 {
		t.Errorf("status %d of the first", got)
	}
	for _, c := range conns[1:] {
		if resp := response(t, c); resp.StatusCode != 503 || resp.Close {
			t.Errorf("status %d, closes: %v; want 503 and an open connection", resp.StatusCode, resp.Close)
		}
	}
	full.Store(false)
	s.await(t, "no place is taken", func(st Stats) bool { return st.Busy == 0 && st.Waiting == 0 })
	request(t, conns[3])
	s.next <- struct{}{}
	if got := status(t, conns[3]); got != 200 {
		t.Errorf("status %d after the refusal", got)
	}
}
