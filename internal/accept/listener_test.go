package accept

import (
	"bufio"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"
)

const refusal = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

// A site is a server whose handler replies when it gets a value from next.
type site struct {
	*http.Server
	queue  *Listener
	next   chan struct{}
	served chan error
}

func start(t *testing.T, limit int, maxWait time.Duration) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{queue: NewListener(l, limit, maxWait, []byte(refusal)), next: make(chan struct{}), served: make(chan error, 1)}
	s.Server = &http.Server{ConnState: s.queue.ConnState, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-s.next })}
	go func() { s.served <- s.Serve(s.queue) }()
	t.Cleanup(func() {
		close(s.next)
		_ = s.Server.Close()
	})
	return s
}

// send opens a connection and sends a request on it.
func (s *site) send(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.queue.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	request(t, c)
	return c
}

func request(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
}

// status reads a response.
func status(t *testing.T, c net.Conn) int {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func (s *site) await(t *testing.T, what string, condition func(Stats) bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(s.queue.Stats()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s; %+v", what, s.queue.Stats())
		}
	}
}

func TestConnectionsBeyondTheLimitWaitInOrder(t *testing.T) {
	t.Parallel()
	s := start(t, 2, time.Minute)
	var conns []net.Conn
	for i := range 6 {
		conns = append(conns, s.send(t))
		s.await(t, "accepted", func(st Stats) bool { return st.Busy+st.Waiting == i+1 })
	}
	if st := s.queue.Stats(); st != (Stats{Busy: 2, Waiting: 4}) {
		t.Errorf("%+v, want 2 busy and 4 waiting", st)
	}
	for range conns {
		s.next <- struct{}{}
	}
	for _, c := range conns {
		if got := status(t, c); got != 200 {
			t.Errorf("status %d", got)
		}
	}
	s.await(t, "all idle", func(st Stats) bool { return st == Stats{} })
}

// Otherwise clients that keep connections open would starve the others.
func TestIdleConnectionsDoNotCount(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	var conns []net.Conn
	for range 5 {
		c := s.send(t)
		s.next <- struct{}{}
		if got := status(t, c); got != 200 {
			t.Fatalf("status %d", got)
		}
		conns = append(conns, c)
	}
	request(t, conns[0])
	s.next <- struct{}{}
	if got := status(t, conns[0]); got != 200 {
		t.Errorf("an idle connection's next request: status %d", got)
	}
}

func TestConnectionThatWaitsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, 1, 100*time.Millisecond)
	busy := s.send(t)
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	for range 3 {
		begin := time.Now()
		if got := status(t, s.send(t)); got != 503 {
			t.Errorf("status %d, want 503", got)
		}
		if took := time.Since(begin); took < 100*time.Millisecond {
			t.Errorf("refused after %s, want 100 ms at least", took)
		}
	}
	s.next <- struct{}{}
	if got := status(t, busy); got != 200 {
		t.Errorf("the busy connection: status %d", got)
	}
	s.await(t, "3 refused", func(st Stats) bool { return st.Refused == 3 && st.Waiting == 0 })
}

// A connection that was opened before its request is refused after the request, and
// one that sends nothing does not delay the refusal of the next.
func TestSilentConnectionWaitsOnceMore(t *testing.T) {
	t.Parallel()
	s := start(t, 1, 50*time.Millisecond)
	s.send(t)
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	var silent []net.Conn
	for range 20 {
		c, err := net.Dial("tcp", s.queue.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		silent = append(silent, c)
	}
	if got := status(t, s.send(t)); got != 503 {
		t.Errorf("status %d, want 503", got)
	}
	request(t, silent[0])
	if got := status(t, silent[0]); got != 503 {
		t.Errorf("a request that came late: status %d, want 503", got)
	}
	s.await(t, "all refused", func(st Stats) bool { return st.Waiting == 0 && st.Refused == 21 })
}

func TestDrainServesWaitingConnections(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	var conns []net.Conn
	for i := range 4 {
		conns = append(conns, s.send(t))
		s.await(t, "accepted", func(st Stats) bool { return st.Busy+st.Waiting == i+1 })
	}
	down := make(chan error, 1)
	go func() { down <- errors.Join(s.queue.Drain(t.Context()), s.Shutdown(t.Context())) }()
	for _, c := range conns {
		s.next <- struct{}{}
		if got := status(t, c); got != 200 {
			t.Errorf("status %d", got)
		}
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	if err := <-s.served; !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// http.Server.Shutdown closes the listener again if Serve has not returned yet.
func TestListenerMayBeClosedAgain(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	if err := errors.Join(s.queue.Drain(t.Context()), s.queue.Close(), s.Shutdown(t.Context())); err != nil {
		t.Error(err)
	}
}

// A client that sends its next request at once must not keep others out.
func TestPlaceGoesToTheConnectionThatWaits(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	s.send(t)
	s.await(t, "the first is busy", func(st Stats) bool { return st.Busy == 1 })
	s.send(t)
	s.await(t, "the second waits", func(st Stats) bool { return st.Waiting == 1 })
	s.queue.mu.Lock()
	var busy net.Conn
	for busy = range s.queue.busy {
	}
	s.queue.mu.Unlock()
	s.queue.ConnState(busy, http.StateIdle)
	s.queue.ConnState(busy, http.StateActive)
	s.await(t, "both are busy", func(st Stats) bool { return st.Busy == 2 && st.Waiting == 0 })
}

// failing is a listener whose first Accept fails for a reason that will pass.
type failing struct {
	net.Listener
	failed bool
}

func (f *failing) Accept() (net.Conn, error) {
	if !f.failed {
		f.failed = true
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return f.Listener.Accept()
}

func TestServerGoesOnAfterATemporaryError(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	q := NewListener(&failing{Listener: l}, 1, time.Minute, nil)
	server := &http.Server{ConnState: q.ConnState, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(q) }()
	t.Cleanup(func() { _ = server.Close() })
	resp, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}
