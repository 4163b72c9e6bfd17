package listener

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
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
	s.requestAll(t, conns)
	return conns
}

func (s *site) requestAll(t *testing.T, conns []net.Conn) {
	t.Helper()
	for i, c := range conns {
		request(t, c)
		s.await(t, "busy, or waits", func(st Stats) bool { return st.Busy+st.Waiting == i+1 })
	}
}

// moved returns how many lanes have served more than one connection.
func (s *site) moved() (count int) {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	for n := range s.queue.lanes {
		if n.moved {
			count++
		}
	}
	return count
}

// rounds is how often a test plays what Accept may prevent: it may take the next request before
// the lane does.
const rounds = 20

func TestLaneGoesOnWithTheNextRequest(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	conns := openWaiting(t, s, 4)
	for round, moved := 0, 0; moved == 0; round++ {
		if round == rounds {
			t.Fatal("no lane has moved")
		}
		last := ""
		for i, c := range conns {
			s.next <- struct{}{}
			resp := response(t, c)
			if got, want := resp.Header.Get("Client"), c.LocalAddr().String(); resp.StatusCode != 200 || got != want {
				t.Errorf("request %d: status %d, of the client %s, want %s", i, resp.StatusCode, got, want)
			}
			arrived := resp.Header.Get("Received")
			if arrived <= last {
				t.Errorf("request %d arrived at %s, the one before at %s", i, arrived, last)
			}
			last = arrived
			moved += s.moved()
		}
		s.await(t, "all idle", func(st Stats) bool { return st.Busy == 0 })
		s.requestAll(t, conns)
	}
	for _, c := range conns {
		s.next <- struct{}{}
		if got := status(t, c); got != 200 {
			t.Errorf("status %d", got)
		}
	}
}

// One each would take memory, which the collector has to look at.
func TestConnectionsThatWaitForAPlaceShareLanes(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	conns := []net.Conn{s.open(t, ""), s.open(t, "")}
	for range 3 {
		s.requestAll(t, conns)
		s.next <- struct{}{}
		if got := status(t, conns[0]); got != 200 {
			t.Errorf("status %d", got)
		}
		s.await(t, "one lane, with the other request", func(st Stats) bool {
			s.queue.mu.Lock()
			defer s.queue.mu.Unlock()
			return st.Busy == 1 && len(s.queue.lanes) == 1
		})
		s.next <- struct{}{}
		if got := status(t, conns[1]); got != 200 {
			t.Errorf("status %d", got)
		}
		s.await(t, "all idle", func(st Stats) bool { return st.Busy == 0 })
	}
}

// http.Server.Close does so at any time; for the race detector.
func TestLaneIsClosedWhileItMovesOn(t *testing.T) {
	t.Parallel()
	for range rounds {
		s := start(t, 1, time.Minute)
		conns := openWaiting(t, s, 2)
		var n *lane
		s.await(t, "served", func(Stats) bool {
			s.queue.mu.Lock()
			defer s.queue.mu.Unlock()
			for served := range s.queue.lanes {
				if served.busy {
					n = served
				}
			}
			return n != nil
		})
		s.next <- struct{}{}
		status(t, conns[0])
		_ = n.Close()
	}
}

// What a look has found is no longer so when the lane has gone on.
func TestHangUpEndsNoRequestOfAnotherClient(t *testing.T) {
	t.Parallel()
	for range rounds {
		s := start(t, 1, time.Minute)
		c, next := openParked(t, s), s.openIdle(t)
		request(t, c)
		s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
		write(t, next, "GET /forever HTTP/1.1\r\nHost: x\r\n\r\n")
		s.await(t, "the next one waits", func(st Stats) bool { return st.Waiting == 1 })
		var seen map[*lane]*Conn
		for len(seen) == 0 {
			seen, _ = s.queue.seenTwice()
		}
		s.next <- struct{}{}
		status(t, c)
		s.await(t, "the next one has begun", func(st Stats) bool { return st.Busy == 1 && st.Waiting == 0 })
		if s.moved() == 0 {
			_ = next.Close()
			continue
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
		return
	}
	t.Error("no lane has moved")
}

// net/http then ends the context of all requests of what it takes for one connection.
func TestHalfABodyEndsNoRequestOfAnotherClient(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := startWith(t, 1, admission.Limits{Burst: time.Minute}, func(s *site) {
		reply := s.Handler
		s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			reply.ServeHTTP(w, r)
			if r.Method == "PUT" {
				ended <- r.Context().Err()
			}
		})
	})
	c, next := openParked(t, s), s.openIdle(t)
	write(t, c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
	_ = c.(*net.TCPConn).CloseWrite()
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	write(t, next, "PUT /at-once HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	s.await(t, "the next one waits", func(st Stats) bool { return st.Waiting == 1 })
	s.next <- struct{}{}
	if got := status(t, next); got != 200 {
		t.Errorf("status %d", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("the next client's context: %v", err)
	}
}

// What has been received of it is not in the server when the one before it ends.
func TestPipelinedRequestIsNotLostWhenALaneMovesOn(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	c := openParked(t, s)
	first := "GET /at-once HTTP/1.1\r\nHost: x\r\nX: "
	first += strings.Repeat("a", serverBuffer-len(first)-len("\r\n\r\n")) + "\r\n\r\n"
	write(t, c, first[:serverBuffer/2], first[serverBuffer/2:]+atOnce)
	responses := bufio.NewReader(c)
	for i := range 2 {
		if resp, err := http.ReadResponse(responses, nil); err != nil || resp.StatusCode != 200 {
			t.Fatalf("request %d: %+v, %v", i, resp, err)
		}
	}
}

// A lane that moves on has read a buffer more than net/http counts.
func TestHeaderWithoutAnEndIsRefusedOnALaneThatMovesOn(t *testing.T) {
	t.Parallel()
	s := startWith(t, 1, admission.Limits{Burst: time.Minute}, func(s *site) {
		s.MaxHeaderBytes, s.ReadHeaderTimeout = serverBuffer, time.Minute
		s.cfg.Conns = 10 * serverBuffer // bytes of such headers that may be held
	})
	s.queue.mu.Lock()
	s.queue.Conns, s.queue.places = busyShare, 1
	s.queue.mu.Unlock()
	busy, long := openParked(t, s), s.openIdle(t)
	request(t, busy)
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	write(t, long, "GET / HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("a", s.queue.longestHeader()))
	s.await(t, "waits", func(st Stats) bool { return st.Waiting == 1 })
	s.next <- struct{}{}
	if got := status(t, long); got != 431 {
		t.Errorf("status %d, want 431", got)
	}
}

// The lane's context has ended, and with it all requests that it would serve.
func TestLaneEndsAfterAHangUp(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	c, next := openParked(t, s), s.openIdle(t)
	write(t, c, "GET /forever HTTP/1.1\r\nHost: x\r\n\r\n")
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	request(t, next)
	s.await(t, "the next one waits", func(st Stats) bool { return st.Waiting == 1 })
	_ = c.Close()
	s.next <- struct{}{}
	if got := status(t, next); got != 200 {
		t.Errorf("status %d", got)
	}
	if s.moved() > 0 {
		t.Error("a lane whose context has ended goes on")
	}
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
