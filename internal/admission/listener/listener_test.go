package listener

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

	"example.com/flashsale/internal/admission"
)

const refusalText = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

// A site is a server whose handler replies when it gets a value from next.
type site struct {
	*http.Server
	cfg    Config
	queue  *Listener
	next   chan struct{}
	served chan error
}

// start starts a site with places for that many busy connections, where one waits for
// longest at most.
func start(t *testing.T, places int, longest time.Duration) *site {
	t.Helper()
	return startWith(t, places, admission.Limits{Burst: longest, Standing: longest})
}

func startWith(t *testing.T, places int, limits admission.Limits, options ...func(*site)) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, l, places, limits, options...)
}

func startOn(
	t *testing.T, l net.Listener, places int, limits admission.Limits, options ...func(*site),
) *site {
	t.Helper()
	s := &site{next: make(chan struct{}), served: make(chan error, 1),
		cfg: Config{Conns: busyShare * places, Limits: limits, Response: []byte(refusalText)}}
	s.Server = &http.Server{Handler: http.HandlerFunc(s.reply)}
	for _, option := range options {
		option(s)
	}
	var err error
	if s.queue, err = New(l, s.Server, s.cfg); err != nil {
		t.Fatal(err)
	}
	go func() { s.served <- s.Serve(s.queue) }()
	t.Cleanup(func() {
		close(s.next)
		_ = s.Server.Close()
	})
	return s
}

// reply replies with when the request was received, and from whom.
func (s *site) reply(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		<-s.next
	case "/waits":
		<-s.next
		admission.FreePlace(r.Context())
		<-s.next
	case "/forever":
		<-r.Context().Done()
	}
	w.Header().Set("Client", r.RemoteAddr)
	w.Header().Set("Received", admission.Arrived(r.Context()).Format(time.RFC3339Nano))
}

// send opens a connection and sends a request on it.
func (s *site) send(t *testing.T) net.Conn {
	t.Helper()
	return s.open(t, get)
}

const (
	get    = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	atOnce = "GET /at-once HTTP/1.1\r\nHost: x\r\n\r\n"
)

// open opens a connection and sends text on it. A read from it fails after ten
// seconds.
func (s *site) open(t *testing.T, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.queue.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

func request(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := io.WriteString(c, get); err != nil {
		t.Fatal(err)
	}
}

// status reads a response.
func status(t *testing.T, c net.Conn) int {
	t.Helper()
	return response(t, c).StatusCode
}

func response(t *testing.T, c net.Conn) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
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
	if st := s.queue.Stats(); st.Busy != 2 || st.Waiting != 4 {
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
	s.await(t, "all idle", func(st Stats) bool { return st.Busy+st.Waiting+st.Refused == 0 })
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
	s.await(t, "3 refused", func(st Stats) bool { return st.Refused == 3 && st.Waiting == 0 && st.Idle == 4 })
}

func TestDrainServesWaitingConnections(t *testing.T) {
	t.Parallel()
	s := start(t, 2, time.Minute)
	var conns []net.Conn
	for i := range 4 {
		conns = append(conns, s.send(t))
		s.await(t, "accepted", func(st Stats) bool { return st.Busy+st.Waiting == i+1 })
	}
	down := make(chan error, 1)
	go func() { down <- errors.Join(s.queue.Drain(t.Context()), s.Shutdown(t.Context())) }()
	for range conns {
		s.next <- struct{}{}
	}
	for _, c := range conns {
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

// A standing queue is refused at once: after a second without progress, nobody may
// wait for the rest of a minute.
func TestConnectionThatWouldWaitTooLongIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	s.send(t)
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	s.send(t)
	s.await(t, "one waits", func(st Stats) bool { return st.Waiting == 1 })
	s.await(t, "no place is left in sight", func(st Stats) bool { return st.Wait > time.Minute })
	time.Sleep(time.Until(s.formed().Add(admission.Patience)))
	for range 3 {
		c := s.send(t)
		if got := status(t, c); got != 503 { // a connection that waited would reach its deadline of 10 s
			t.Errorf("status %d, want 503", got)
		}
	}
}

// formed returns when the first waiting request arrived.
func (s *site) formed() time.Time {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.requests.Front().Value.(*Conn).arrived
}

// A request in several segments must not reset the connection before the client
// has read the response.
func TestRefusalReachesAClientThatIsStillSending(t *testing.T) {
	t.Parallel()
	s := start(t, 1, 50*time.Millisecond)
	s.send(t)
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	c := s.open(t, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300\r\n\r\n{")
	s.await(t, "refused", func(st Stats) bool { return st.Refused == 1 })
	// and the rest comes after it
	s.await(t, "the response has arrived", func(Stats) bool { return !isSilent(t, c) })
	for range 10 {
		if _, err := io.WriteString(c, " "); err != nil {
			t.Fatal(err)
		}
	}
	if got := status(t, c); got != 503 {
		t.Errorf("status %d, want 503", got)
	}
}

func TestRequestIsReceivedWhenItsConnectionIsAccepted(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	s.send(t)
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	sent := time.Now()
	c := s.send(t)
	s.await(t, "waits", func(st Stats) bool { return st.Waiting == 1 })
	accepted := time.Now()
	time.Sleep(50 * time.Millisecond) // so that a later time would be seen
	for range 2 {
		s.next <- struct{}{}
	}
	received, err := time.Parse(time.RFC3339Nano, response(t, c).Header.Get("Received"))
	if err != nil || received.Before(sent) || received.After(accepted) {
		t.Errorf("received at %s, %v; want between %s and %s", received, err, sent, accepted)
	}
}

// Browsers and pools connect before they have a request.
func TestConnectionWithoutARequestTakesNoPlace(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	early := s.open(t, "")
	s.await(t, "open", func(st Stats) bool { return st.Idle == 1 })
	if got := status(t, s.open(t, atOnce)); got != 200 {
		t.Errorf("another connection: status %d", got)
	}
	sent := time.Now()
	request(t, early)
	s.next <- struct{}{}
	received, err := time.Parse(time.RFC3339Nano, response(t, early).Header.Get("Received"))
	if err != nil || received.Before(sent) {
		t.Errorf("received at %s, %v; want after %s", received, err, sent)
	}
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
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.NotFoundHandler()}
	q, err := New(&failing{Listener: l}, server, Config{Conns: 1, Limits: admission.Limits{Burst: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(q) }()
	t.Cleanup(func() { _ = server.Close() })
	resp, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}
