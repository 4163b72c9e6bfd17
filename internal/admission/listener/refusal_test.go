package listener

import (
	"container/list"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// crowded starts a site with as many open connections as there may be.
func crowded(t *testing.T) (s *site, open []net.Conn) {
	t.Helper()
	s = start(t, 1, time.Minute)
	for range openShare * busyShare {
		open = append(open, s.open(t, ""))
	}
	s.await(t, "open", func(st Stats) bool { return st.Idle == len(open) })
	return s, open
}

func TestConnectionBeyondThoseThatMayBeOpenIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := crowded(t)
	if got := response(t, s.send(t)); got.StatusCode != 503 || !got.Close {
		t.Errorf("status %d, closes: %v", got.StatusCode, got.Close)
	}
}

// One that sends nothing does not delay the refusal of the next.
func TestSilentConnectionIsRefusedLater(t *testing.T) {
	t.Parallel()
	s, _ := crowded(t)
	silent := s.open(t, "")
	if got := status(t, s.send(t)); got != 503 {
		t.Errorf("status %d, want 503", got)
	}
	request(t, silent)
	if got := status(t, silent); got != 503 {
		t.Errorf("a request that came late: status %d, want 503", got)
	}
	if st := s.queue.Stats(); st.Refused != 2 {
		t.Errorf("%+v, want 2 refused", st)
	}
}

// Otherwise clients that keep connections open would keep the others out.
func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	s, open := crowded(t)
	time.Sleep(shortestIdle)
	for range 2 {
		if got := status(t, s.open(t, atOnce)); got != 200 {
			t.Errorf("status %d", got)
		}
	}
	for i, c := range open {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, io.EOF) != (i < 2) {
			t.Errorf("connection %d of those that were idle: %v", i, err)
		}
	}
}

// While there is much to refuse the poller is late, and a close would reset the connection.
func TestConnectionWhoseRequestHasArrivedIsNotIdle(t *testing.T) {
	t.Parallel()
	s, fresh := crowded(t)
	time.Sleep(shortestIdle)
	s.openIdle(t) // is served
	again := s.openIdle(t)
	time.Sleep(shortestIdle)
	s.queue.mu.Lock()                            // which keeps the poller from reading
	for _, c := range append(fresh[2:], again) { // the first two have made place
		write(t, c, atOnce)
	}
	for _, queue := range []*list.List{&s.queue.idle, &s.queue.beginning} {
		for e := queue.Front(); e != nil; e = e.Next() {
			for !e.Value.(*Conn).hasArrived() {
				time.Sleep(time.Millisecond)
			}
		}
	}
	evicted := s.queue.evict()
	s.queue.mu.Unlock()
	if evicted {
		t.Error("a connection is evicted")
	}
	for i, c := range append(fresh[2:], again) {
		if got := status(t, c); got != 200 && got != 503 { // more than may wait
			t.Errorf("connection %d: status %d", i, got)
		}
	}
}

// A process that ends after Drain must not cut off a client that it refuses. This
// one sends nothing, so it gets its response after longestSilence.
func TestDrainWaitsUntilRefusalsAreSent(t *testing.T) {
	t.Parallel()
	s, open := crowded(t)
	refused := s.open(t, "")
	s.await(t, "refused", func(st Stats) bool { return st.Refused == 1 })
	for _, c := range open {
		_ = c.Close()
	}
	drained := make(chan error, 1)
	go func() { drained <- s.queue.Drain(t.Context()) }()
	for range 2 {
		select {
		case err := <-drained:
			if err != nil {
				t.Error(err)
			}
		case err := <-s.served:
			if !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		}
		if isSilent(t, refused) {
			t.Error("Drain or Serve returned before the refused client had got a response")
		}
	}
	if got := status(t, refused); got != 503 {
		t.Errorf("status %d, want 503", got)
	}
}

// Whoever is refused at /livez takes the instance for dead.
func TestProbesAreNotRefused(t *testing.T) {
	t.Parallel()
	const probe = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
	s, _ := crowded(t)
	if got := status(t, s.open(t, probe)); got != 200 {
		t.Errorf("a connection that is refused: status %d, want 200", got)
	}
	s, _ = full(t, 50*time.Millisecond, 0)
	if got := status(t, s.open(t, probe)); got != 200 {
		t.Errorf("no place is free: status %d, want 200", got)
	}
}

func TestPartOfAProbeIsNotServed(t *testing.T) {
	t.Parallel()
	s, open := crowded(t)
	part := s.open(t, "GET /livez ")
	time.Sleep(20 * time.Millisecond) // until it has been read
	if st := s.queue.Stats(); st.Busy > 0 || st.Idle > len(open) {
		t.Errorf("%+v", st)
	}
	if _, err := io.WriteString(part, "HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if got := status(t, part); got != 200 {
		t.Errorf("status %d", got)
	}
}

// Otherwise one client could keep the process from ending.
func TestRefusedClientMayNotSendForever(t *testing.T) {
	t.Parallel()
	s, _ := full(t, 50*time.Millisecond, 0)
	c := s.open(t, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nx")
	if got := status(t, c); got != 503 {
		t.Fatalf("status %d, want 503", got)
	}
	begin := time.Now()
	body := make([]byte, 1<<14)
	for err := error(nil); err == nil; _, err = c.Write(body) { // without a pause, so that a read always has some
		if time.Since(begin) > 3*longestEnd {
			t.Fatal("the connection stays open")
		}
	}
}

// A client that sends its header byte by byte is as old as its first byte.
func TestOldBeginningsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	s, open := crowded(t)
	_ = open[0].Close()
	s.await(t, "one less", func(st Stats) bool { return st.Idle == len(open)-1 })
	time.Sleep(shortestIdle)
	s.open(t, "")
	s.await(t, "a young one", func(st Stats) bool { return st.Idle == len(open) })
	for _, c := range open[1:] {
		write(t, c, "G")
	}
	if got := status(t, s.open(t, atOnce)); got != 200 {
		t.Errorf("status %d", got)
	}
}

// isSilent reports whether nothing has arrived at c.
func isSilent(t *testing.T, c net.Conn) bool {
	t.Helper()
	conn, err := new(Listener).newConn(c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.peek(make([]byte, 1))
	return errors.Is(err, syscall.EAGAIN)
}
