package listener

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/admission"
)

// countServed returns how many connections the server has.
func (s *site) countServed() int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.served)
}

// Each takes 17 kB in the server.
func TestManyConnectionsAreParked(t *testing.T) {
	t.Parallel()
	const places = 2
	s := start(t, places, time.Minute)
	var idle []net.Conn
	for range 2 * busyShare * places {
		idle = append(idle, s.openIdle(t))
	}
	for range 2 {
		for _, c := range idle {
			if _, err := io.WriteString(c, atOnce); err != nil {
				t.Fatal(err)
			}
			if resp := response(t, c); resp.StatusCode != 200 || resp.Close {
				t.Errorf("status %d, closes: %v", resp.StatusCode, resp.Close)
			}
		}
	}
	if got, want := s.countServed(), busyShare*places; got > want {
		t.Errorf("the server has %d connections, want %d at most", got, want)
	}
	s.await(t, "all idle", func(st Stats) bool { return st.Idle == len(idle) })
}

// parkIdle returns an idle connection that the server does not have.
func parkIdle(t *testing.T, s *site) net.Conn {
	t.Helper()
	for range busyShare + 1 { // more than Conns
		s.openIdle(t)
	}
	return s.openIdle(t)
}

func TestSilentParkedConnectionsEnd(t *testing.T) {
	t.Parallel()
	const limit = 300 * time.Millisecond
	for name, c := range map[string]struct {
		open         func(*testing.T, *site) net.Conn
		idle, header time.Duration
		sends        string
	}{
		"without a request": {func(t *testing.T, s *site) net.Conn { return s.open(t, "") }, time.Minute, limit, ""},
		"after a request":   {parkIdle, limit, time.Minute, ""},
		"in a header":       {parkIdle, time.Minute, limit, strings.Repeat("GET /", 1000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startWith(t, 1, admission.Limits{Burst: time.Minute}, func(s *site) {
				s.IdleTimeout, s.ReadHeaderTimeout = c.idle, c.header
			})
			conn, begin := c.open(t, s), time.Now()
			go func() {
				for i := range c.sends { // byte by byte
					if _, err := io.WriteString(conn, c.sends[i:i+1]); err != nil {
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
			n, err := conn.Read(make([]byte, 1))
			if took := time.Since(begin); n > 0 || isTimeout(err) || took < limit*9/10 {
				t.Errorf("read %d bytes, %v after %s; want the end after %s", n, err, took, limit)
			}
		})
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestHangUpOfAParkedConnectionIsSeen(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	c := s.open(t, "")
	s.await(t, "open", func(st Stats) bool { return st.Idle == 1 })
	_ = c.Close()
	s.await(t, "closed", func(st Stats) bool { return st.Idle == 0 })
}

func TestLongHeaderIsReadWhole(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]int{3 * serverBuffer: 200, 8 * serverBuffer: 431} {
		s := startWith(t, 1, admission.Limits{Burst: time.Minute},
			func(s *site) { s.MaxHeaderBytes = 4 * serverBuffer })
		text := fmt.Sprintf("GET /at-once HTTP/1.1\r\nHost: x\r\nA: %s\r\n\r\n", strings.Repeat("a", length))
		if got := status(t, s.open(t, text)); got != want {
			t.Errorf("a header of %d bytes: status %d, want %d", length, got, want)
		}
	}
}

func TestPipelinedRequestsOfAParkedConnectionAreServed(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	c := parkIdle(t, s)
	for _, text := range []string{atOnce + atOnce + atOnce[:30], atOnce[30:]} {
		write(t, c, text)
	}
	replies := bufio.NewReader(c)
	for range 3 {
		if resp, err := http.ReadResponse(replies, nil); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%+v, %v", resp, err)
		}
	}
}

func TestCloseEndsParkedConnections(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *site) error{
		"closed":  func(_ *testing.T, s *site) error { return s.Server.Close() },
		"drained": func(t *testing.T, s *site) error { return s.queue.Drain(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, 1, time.Minute)
			c := parkIdle(t, s)
			if err := end(t, s); err != nil {
				t.Error(err)
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("%v, want the end", err)
			}
		})
	}
}
