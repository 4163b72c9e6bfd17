package listener

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"example.com/flashsale/internal/admission"
)

// openIdle opens a connection that is idle after its first request.
func (s *site) openIdle(t *testing.T) net.Conn {
	t.Helper()
	c := s.open(t, atOnce)
	if got := status(t, c); got != 200 {
		t.Fatalf("status %d", got)
	}
	s.await(t, "idle", func(st Stats) bool { return st.Idle > 0 && st.Busy == 0 })
	return c
}

// full opens n idle connections, and keeps the only place busy afterwards.
func full(t *testing.T, longest time.Duration, n int) (s *site, idle []net.Conn) {
	t.Helper()
	s = start(t, 1, longest)
	for range n {
		idle = append(idle, s.openIdle(t))
	}
	busy := s.send(t)
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	t.Cleanup(func() { _ = busy.Close() })
	return s, idle
}

// silentBesideBusy opens a connection without a request, and keeps the only place busy.
func silentBesideBusy(t *testing.T, longest time.Duration) (s *site, silent net.Conn) {
	t.Helper()
	s = start(t, 1, longest)
	silent = s.open(t, "")
	s.await(t, "open", func(st Stats) bool { return st.Idle == 1 })
	s.send(t)
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	return s, silent
}

// write writes parts so that the server reads them one by one.
func write(t *testing.T, c net.Conn, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if _, err := io.WriteString(c, part); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // the server does not tell that it has read
	}
}

func TestRequestsAndConnectionsWaitInOneOrder(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]int{"the request came first": {0, 1}, "the connection came first": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, idle := full(t, time.Minute, 1)
			var conns []net.Conn
			for i, which := range order {
				if which == 0 {
					request(t, idle[0])
					conns = append(conns, idle[0])
				} else {
					conns = append(conns, s.send(t))
				}
				s.await(t, "waits", func(st Stats) bool { return st.Waiting == i+1 && st.Busy == 1 })
			}
			s.next <- struct{}{}
			for _, c := range conns {
				s.next <- struct{}{}
				if got := status(t, c); got != 200 { // one that is not next would reach its deadline
					t.Errorf("status %d", got)
				}
			}
		})
	}
}

func TestFirstRequestOfASilentConnectionWaits(t *testing.T) {
	t.Parallel()
	s, silent := silentBesideBusy(t, time.Minute)
	request(t, silent)
	s.await(t, "it waits", func(st Stats) bool { return st.Waiting == 1 && st.Busy == 1 })
	for range 2 {
		s.next <- struct{}{}
	}
	if got := status(t, silent); got != 200 {
		t.Errorf("status %d", got)
	}
}

// Otherwise few clients that begin a request, and do not end it, would keep all others
// out.
func TestPartOfAHeaderTakesNoPlace(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	slow := s.openIdle(t)
	for i := range len(atOnce) {
		if _, err := io.WriteString(slow, atOnce[i:i+1]); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			if got := status(t, s.open(t, atOnce)); got != 200 {
				t.Errorf("another connection: status %d", got)
			}
		}
	}
	if got := status(t, slow); got != 200 {
		t.Errorf("status %d", got)
	}
}

// A body that looks like the end of a header, of a request that came with another one.
func TestBodyDoesNotWaitForAPlace(t *testing.T) {
	t.Parallel()
	c := start(t, 1, time.Minute).openIdle(t)
	replies := bufio.NewReader(c)
	for i, text := range []string{
		atOnce + "POST /at-once HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n", "\r\n\r\n" + atOnce, "",
	} {
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if resp, err := http.ReadResponse(replies, nil); err != nil || resp.StatusCode != 200 {
			t.Fatalf("response %d: %v", i, err)
		}
	}
}

// The deadline of the request before it is over after an idle time.
func TestRefusalHasItsOwnDeadline(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	client := s.open(t, "")
	c, err := s.queue.newConn(client)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetWriteDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if !c.respond([]byte(refusalText)) {
		t.Error("the response was not sent")
	}
}

func TestPipelinedRequestArrivesAfterTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	c := s.openIdle(t)
	if _, err := io.WriteString(c, get+get); err != nil {
		t.Fatal(err)
	}
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	replied := time.Now()
	s.next <- struct{}{}
	replies := bufio.NewReader(c)
	for i := range 2 {
		resp, err := http.ReadResponse(replies, nil)
		if err != nil {
			t.Fatal(err)
		}
		received, err := time.Parse(time.RFC3339Nano, resp.Header.Get("Received"))
		if err != nil || received.After(replied) != (i == 1) {
			t.Errorf("request %d arrived at %s, %v; the first reply was sent after %s", i, received, err, replied)
		}
		if i == 0 {
			s.next <- struct{}{}
		}
	}
}

func TestRequestThatWaitsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	const longest = 100 * time.Millisecond
	s, idle := full(t, longest, 1)
	begin := time.Now()
	request(t, idle[0])
	if got := status(t, idle[0]); got != 503 {
		t.Errorf("status %d", got)
	}
	if took := time.Since(begin); took < longest {
		t.Errorf("refused after %s", took)
	}
	s.await(t, "1 refused", func(st Stats) bool { return st.Refused == 1 && st.Waiting == 0 && st.Idle == 1 })
}

// Connecting again would cost this machine more than the refusal does.
func TestRefusalLeavesTheConnectionOpen(t *testing.T) {
	t.Parallel()
	s, idle := full(t, 50*time.Millisecond, 1)
	for range 3 {
		request(t, idle[0])
		if resp := response(t, idle[0]); resp.StatusCode != 503 || resp.Close {
			t.Fatalf("status %d, closes: %v", resp.StatusCode, resp.Close)
		}
	}
	s.next <- struct{}{}
	s.await(t, "there is a place", func(st Stats) bool { return st.Busy == 0 })
	sent := time.Now()
	write(t, idle[0], atOnce[:len(atOnce)-1], "\n")
	resp := response(t, idle[0])
	received, err := time.Parse(time.RFC3339Nano, resp.Header.Get("Received"))
	if err != nil || received.Before(sent) {
		t.Errorf("status %d, received %s, %v; sent %s", resp.StatusCode, received, err, sent)
	}
}

func TestRefusalBeginsANewIdleTime(t *testing.T) {
	t.Parallel()
	const longest = 10 * time.Millisecond
	s := startWith(t, 1, admission.Limits{Burst: longest, Standing: longest},
		func(s *site) { s.IdleTimeout = 300 * time.Millisecond })
	c := s.openIdle(t)
	busy := s.send(t)
	defer busy.Close()
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	for begin := time.Now(); time.Since(begin) < 2*s.IdleTimeout; time.Sleep(s.IdleTimeout / 3) {
		request(t, c)
		if got := status(t, c); got != 503 {
			t.Errorf("status %d", got)
		}
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("an idle connection: %v, want the end", err)
	}
}

// The server would take the next request for the rest of the refused one, which another
// client of a proxy may have sent.
func TestRefusalClosesTheConnectionOfAnOddRequest(t *testing.T) {
	t.Parallel()
	const header = "GET / HTTP/1.1\r\nHost: x\r\n"
	for name, text := range map[string]string{
		"without a body of its response": "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n",
		"in HTTP/1.0":                    "GET / HTTP/1.0\r\n\r\n",
		"the last one":                   header + "Connection: close\r\n\r\n",
		"with a body":                    header + "Content-Length: 40\r\n\r\n",
		"with chunks":                    header + "Transfer-Encoding: chunked\r\n\r\n",
		"with a space":                   header + "Content-Length : 40\r\n\r\n",
		"with a folded line":             header + "A: b\r\n Content-Length: 40\r\n\r\n",
		"two":                            header + "\r\n" + get,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, idle := full(t, 10*time.Millisecond, 1)
			if _, err := io.WriteString(idle[0], text); err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(idle[0]); err != nil || string(got) != refusalText {
				t.Errorf("received %q, %v", got, err)
			}
		})
	}
}

// net/http has read the begin of the refused request behind the one before it.
func TestRefusalClosesTheConnectionOfAPipelinedPart(t *testing.T) {
	t.Parallel()
	s := startWith(t, 1, admission.Limits{Burst: time.Minute, Standing: time.Minute}, func(s *site) {
		s.cfg.RefusesUnread = func(request []byte) bool { return bytes.HasPrefix(request, []byte("GET / ")) }
	})
	c := s.openIdle(t)
	if _, err := io.WriteString(c, atOnce+"POST /at-once HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n"); err != nil {
		t.Fatal(err)
	}
	if got := status(t, c); got != 200 {
		t.Errorf("status %d", got)
	}
	time.Sleep(20 * time.Millisecond) // so that the server has read the part
	request(t, c)
	if got := status(t, c); got != 400 { // a header's field that is none
		t.Errorf("status %d", got)
	}
}

// Of a request's first bytes net/http may have too few to begin.
func TestRequestInPartsIsNotRefusedUnread(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]string{
		"behind another one": {atOnce + atOnce[:2], atOnce[2:]},
		"two bytes first":    {atOnce, atOnce[:2], atOnce[2:]},
		"a line first":       {atOnce, atOnce[:30], atOnce[30:]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startWith(t, 1, admission.Limits{Burst: time.Minute, Standing: time.Minute}, func(s *site) {
				s.cfg.RefusesUnread = func(request []byte) bool { return !bytes.HasPrefix(request, []byte(atOnce)) }
			})
			c := s.openIdle(t)
			write(t, c, parts...)
			replies := bufio.NewReader(c)
			for range 2 {
				if resp, err := http.ReadResponse(replies, nil); err != nil || resp.StatusCode != 200 {
					t.Fatalf("%+v, %v", resp, err)
				}
			}
		})
	}
}

// A load balancer that has been told of the end must not find an open connection closed.
func TestRefusalClosesItsConnectionBeforeTheEnd(t *testing.T) {
	t.Parallel()
	s, idle := full(t, 10*time.Millisecond, 1)
	s.queue.CloseConnections()
	request(t, idle[0])
	if got, err := io.ReadAll(idle[0]); err != nil || string(got) != refusalText {
		t.Errorf("received %q, %v", got, err)
	}
}

func TestRequestIsRefusedUnreadAlthoughThereIsAPlace(t *testing.T) {
	t.Parallel()
	s := startWith(t, 1, admission.Limits{Burst: time.Minute, Standing: time.Minute}, func(s *site) {
		s.cfg.RefusesUnread = func(request []byte) bool { return bytes.HasPrefix(request, []byte("GET / ")) }
	})
	c := s.openIdle(t)
	for _, text := range []string{get, atOnce, get} {
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if got, want := status(t, c), map[string]int{get: 503, atOnce: 200}[text]; got != want {
			t.Errorf("%q: status %d, want %d", text, got, want)
		}
	}
	if st := s.queue.Stats(); st.Refused > 0 {
		t.Errorf("%+v; who checks counts", st)
	}
}

func TestProbeOnAnOpenConnectionDoesNotWait(t *testing.T) {
	t.Parallel()
	_, idle := full(t, time.Minute, 1)
	if _, err := io.WriteString(idle[0], "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if got := status(t, idle[0]); got != 200 {
		t.Errorf("status %d", got)
	}
}

// Otherwise clients whose refusals are delayed would keep the others out.
func TestRequestThatOnlyWaitsTakesNoPlace(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	waits := s.open(t, "GET /waits HTTP/1.1\r\nHost: x\r\n\r\n")
	s.await(t, "it has a place", func(st Stats) bool { return st.Busy == 1 })
	s.next <- struct{}{}
	s.await(t, "it waits", func(st Stats) bool { return st.Idle == 1 && st.Busy == 0 })
	if got := status(t, s.open(t, atOnce)); got != 200 {
		t.Errorf("another connection: status %d", got)
	}
	s.next <- struct{}{}
	if got := status(t, waits); got != 200 {
		t.Errorf("status %d", got)
	}
}

func TestDrainServesRequestsThatWait(t *testing.T) {
	t.Parallel()
	s, idle := full(t, time.Minute, 2)
	for _, c := range idle {
		request(t, c)
	}
	s.await(t, "both wait", func(st Stats) bool { return st.Waiting == 2 })
	drained := make(chan error, 1)
	go func() { drained <- errors.Join(s.queue.Drain(t.Context()), s.Shutdown(t.Context())) }()
	for range 1 + len(idle) {
		s.next <- struct{}{}
	}
	for _, c := range idle {
		if got := status(t, c); got != 200 {
			t.Errorf("status %d", got)
		}
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

// net/http takes an end in the middle of a header for nothing.
func TestRefusedHeaderInPartsEndsItsConnection(t *testing.T) {
	t.Parallel()
	s, idle := full(t, 50*time.Millisecond, 1)
	write(t, idle[0], "GET / HTTP/1.1\r\nHost: x\r\n", "A: b\r\n\r\n")
	if got, err := io.ReadAll(idle[0]); err != nil || string(got) != refusalText {
		t.Errorf("received %q, %v", got, err)
	}
	s.await(t, "closed", func(st Stats) bool { return st.Idle == 0 })
}

func TestPipelinedRequestDoesNotOvertake(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	first, second := s.openIdle(t), s.openIdle(t)
	if _, err := io.WriteString(first, get+get); err != nil {
		t.Fatal(err)
	}
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	request(t, second)
	s.await(t, "the other one waits", func(st Stats) bool { return st.Waiting == 1 })
	for range 2 {
		s.next <- struct{}{}
	}
	if got := status(t, second); got != 200 { // else it would reach its deadline
		t.Errorf("status %d", got)
	}
	s.next <- struct{}{}
	if got := status(t, first); got != 200 {
		t.Errorf("status %d", got)
	}
}

// nginx does not repeat a claim that it has sent.
func TestDrainServesAConnectionWhoseRequestIsOnItsWay(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	silent := s.open(t, "")
	s.await(t, "open", func(st Stats) bool { return st.Idle == 1 })
	drained := make(chan error, 1)
	go func() { drained <- s.queue.Drain(t.Context()) }()
	select {
	case err := <-drained:
		t.Fatalf("drained before the request: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if _, err := io.WriteString(silent, atOnce); err != nil {
		t.Fatal(err)
	}
	if got := status(t, silent); got != 200 {
		t.Errorf("status %d", got)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

func TestHangUpOfARequestThatOnlyWaitsIsSeen(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan struct{})
	p := connect(t, new(http.Server), func(_ http.ResponseWriter, r *http.Request) {
		admission.FreePlace(r.Context())
		close(begun)
		<-r.Context().Done()
		close(ended)
	})
	p.send(t, get)
	<-begun
	_ = p.Conn.Close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the request goes on after 10 s")
	}
}

// net/http ignores them, as old clients send them after the body of a POST.
func TestLineBreaksTakeNoPlace(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	c := s.open(t, "POST /at-once HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	status(t, c)
	s.await(t, "idle", func(st Stats) bool { return st.Idle == 1 && st.Busy == 0 })
	if _, err := io.WriteString(c, "\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := status(t, s.open(t, atOnce)); got != 200 {
			t.Errorf("another connection: status %d", got)
		}
		time.Sleep(10 * time.Millisecond) // until they have been read
	}
}

// A connection that is closed with unread data is reset, and its client may not read
// the response.
func TestRefusedRequestWithABodyGetsItsResponse(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, *site, net.Conn) net.Conn{
		"served": func(_ *testing.T, _ *site, idle net.Conn) net.Conn { return idle },
		"parked": func(t *testing.T, s *site, _ net.Conn) net.Conn { return s.open(t, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, idle := full(t, 50*time.Millisecond, 1)
			c := open(t, s, idle[0])
			write(t, c, "POST /at-once HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na", "b")
			if got, err := io.ReadAll(c); err != nil || string(got) != refusalText {
				t.Errorf("received %q, %v", got, err)
			}
		})
	}
}

// The header may end where its body has to be read.
func TestRequestWithABodyIsNotRefusedUnread(t *testing.T) {
	t.Parallel()
	s := startWith(t, 1, admission.Limits{Burst: time.Minute, Standing: time.Minute}, func(s *site) {
		s.cfg.RefusesUnread = func(request []byte) bool { return bytes.HasPrefix(request, []byte("POST ")) }
	})
	for name, c := range map[string]net.Conn{"served": s.openIdle(t), "parked": s.open(t, "")} {
		write(t, c, "POST /at-once HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", "a")
		if got := status(t, c); got != 200 {
			t.Errorf("%s: status %d", name, got)
		}
	}
}

// Clients that send a request after each response do not make the queue grow. Those that
// open more connections do.
func TestFewConnectionsMayAlwaysWait(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for open, want := range map[int]bool{4: true, 5: false} {
		limits := admission.Limits{Burst: time.Minute, Standing: time.Millisecond}
		l := &Listener{Config: Config{Conns: 4, Limits: limits}}
		serveSlowly(l, now)
		l.open = open
		if got := l.mayWait(now); got != want {
			t.Errorf("%d connections are open, a request may wait: %v", open, got)
		}
	}
}

// serveSlowly makes one request wait in l for long, of a queue that one in 0.2 s leaves.
func serveSlowly(l *Listener, now time.Time) {
	l.forecast.Join(now.Add(-2*time.Second), 0, admission.Limits{}, time.Time{})
	for age := 2 * time.Second; age > 0; age -= 200 * time.Millisecond {
		l.forecast.Leave(now.Add(-age))
	}
	l.requests.PushBack(&Conn{})
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	s, _ := full(t, time.Minute, 0)
	const longest = busyShare + 1
	for i := range longest {
		s.send(t)
		s.await(t, "waits", func(st Stats) bool { return st.Waiting == i+1 })
	}
	if got := status(t, s.send(t)); got != 503 {
		t.Errorf("status %d, want 503", got)
	}
}
