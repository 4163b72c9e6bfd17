package listener

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/admission"
)

// countServed returns how many connections the server has.
func (s *site) countServed() int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.lanes)
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

// openParked returns an idle connection that the server does not have.
func openParked(t *testing.T, s *site) net.Conn {
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
		"after a request":   {openParked, limit, time.Minute, ""},
		"in a header":       {openParked, time.Minute, limit, strings.Repeat("GET /", 1000)},
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
	for name, c := range map[string]struct {
		length int
		end    string
		want   int
	}{
		"longer than the server reads at a time": {3 * serverBuffer, "\r\n\r\n", 200},
		"too long":                               {8 * serverBuffer, "\r\n\r\n", 431},
		"too long, and without an end":           {8 * serverBuffer, "", 431},
	} {
		s := startWith(t, 10, admission.Limits{Burst: time.Minute},
			func(s *site) { s.MaxHeaderBytes = 4 * serverBuffer })
		text := "GET /at-once HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", c.length) + c.end
		if got := status(t, s.open(t, text)); got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
}

func TestPipelinedRequestsOfAParkedConnectionAreServed(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	c := openParked(t, s)
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
			c := openParked(t, s)
			if err := end(t, s); err != nil {
				t.Error(err)
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("%v, want the end", err)
			}
		})
	}
}

// Otherwise few clients would take the memory that the requests of the others need.
func TestBeginningsOfHeadersAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	refused := 0
	for range openShare * busyShare {
		c := s.open(t, "GET / HTTP/1.1\r\nHost: x\r\nA: "+strings.Repeat("a", serverBuffer/2))
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if n, err := io.ReadFull(c, make([]byte, len(refusalText))); n > 0 && err == nil {
			refused++
		}
	}
	if refused == 0 {
		t.Error("all headers may go on")
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if s.queue.held > busyShare*serverBuffer {
		t.Errorf("%d bytes are held, want %d at most", s.queue.held, busyShare*serverBuffer)
	}
}

func TestIdleConnectionKeepsNoLongHeader(t *testing.T) {
	t.Parallel()
	s := startWith(t, 10, admission.Limits{Burst: time.Minute}, func(s *site) {
		s.cfg.RefusesUnread = func([]byte) bool { return true }
	})
	c := s.open(t, fmt.Sprintf("GET / HTTP/1.1\r\nHost: x\r\nA: %s\r\n\r\n", strings.Repeat("a", 3*serverBuffer)))
	if got := status(t, c); got != 503 {
		t.Errorf("status %d, want 503", got)
	}
	s.await(t, "parked", func(Stats) bool {
		s.queue.mu.Lock()
		defer s.queue.mu.Unlock()
		return s.queue.idle.Len() == 1
	})
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if kept := cap(s.queue.idle.Front().Value.(*Conn).unread); kept > usualHeader {
		t.Errorf("%d bytes are kept", kept)
	}
}

// net/http takes them, as RFC 9112, section 2.2 allows.
func TestLinesMayEndWithoutACarriageReturn(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	for _, end := range []string{"\n", "\r\n"} {
		if got := status(t, s.open(t, "GET /at-once HTTP/1.1\nHost: x\n"+end)); got != 200 {
			t.Errorf("status %d", got)
		}
	}
}

// Old clients send them after the body of a POST.
func TestParkedConnectionIgnoresLineBreaks(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	c := openParked(t, s)
	write(t, c, "\r\n", "\r\n"+atOnce)
	if got := status(t, c); got != 200 {
		t.Errorf("status %d", got)
	}
}

func TestDrainServesParkedConnections(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	c := openParked(t, s)
	busy := s.send(t)
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	drained := make(chan error, 1)
	go func() { drained <- errors.Join(s.queue.Drain(t.Context()), s.Shutdown(t.Context())) }()
	time.Sleep(50 * time.Millisecond) // that Drain waits is not to be seen
	request(t, c)
	for range 2 {
		s.next <- struct{}{}
	}
	for _, c := range []net.Conn{busy, c} {
		if got := status(t, c); got != 200 {
			t.Errorf("status %d", got)
		}
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

// While the Listener reads it, a request is neither parked nor waiting.
func TestDrainServesARequestThatIsBeingRead(t *testing.T) {
	t.Parallel()
	var stops atomic.Bool
	reading, goOn := make(chan struct{}), make(chan struct{})
	s := startWith(t, 1, admission.Limits{Burst: time.Minute, Standing: time.Minute}, func(s *site) {
		s.cfg.RefusesUnread = func([]byte) bool {
			if stops.Load() {
				close(reading)
				<-goOn
			}
			return false
		}
	})
	c := openParked(t, s)
	stops.Store(true)
	write(t, c, atOnce)
	<-reading
	drained := make(chan error, 1)
	go func() { drained <- s.queue.Drain(t.Context()) }()
	select {
	case err := <-drained:
		t.Errorf("Drain has not waited: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	stops.Store(false)
	close(goOn)
	if got := status(t, c); got != 200 {
		t.Errorf("status %d", got)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

func TestDrainDoesNotWaitForConnectionsThatWereRefused(t *testing.T) {
	t.Parallel()
	s := startWith(t, 1, admission.Limits{Burst: time.Minute, Standing: time.Minute}, func(s *site) {
		s.cfg.RefusesUnread = func([]byte) bool { return true }
	})
	if got := status(t, s.send(t)); got != 503 {
		t.Errorf("status %d, want 503", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.queue.Drain(ctx); err != nil {
		t.Error(err)
	}
}

// Accept returns nothing any more.
func TestRequestInHandIsRefusedAfterClose(t *testing.T) {
	t.Parallel()
	reads, closed := make(chan struct{}), make(chan struct{})
	s := startWith(t, 1, admission.Limits{Burst: time.Minute}, func(s *site) {
		s.cfg.RefusesUnread = func(request []byte) bool {
			if bytes.HasPrefix(request, []byte("GET /last ")) {
				close(reads)
				<-closed
			}
			return false
		}
	})
	c := openParked(t, s)
	write(t, c, "GET /last HTTP/1.1\r\nHost: x\r\n\r\n")
	<-reads
	_ = s.Server.Close()
	<-s.served
	close(closed)
	if got, err := io.ReadAll(c); err != nil || string(got) != refusalText {
		t.Errorf("received %q, %v", got, err)
	}
	s.await(t, "all closed", func(st Stats) bool { return st.Busy+st.Idle+st.Waiting == 0 })
}
