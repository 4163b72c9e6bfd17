package listener

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/flashsale/internal/admission"
)

// tellsOf returns how many of its events tell of a connection, if it tells at once.
func (p *poller) tellsOf() (n int) {
	_ = control(p.epoll, func(epoll int) error {
		n, _ = unix.EpollWait(epoll, make([]unix.EpollEvent, 10), 0)
		return nil
	})
	return n
}

func TestPollerTellsAgainOnlyOfWhatWasMissed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = accepted.Close() })
	c, err := new(Listener).newConn(accepted)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPoller()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	told := func(when string, want int) {
		t.Helper()
		if err := p.await(c); err != nil {
			t.Fatal(err)
		}
		if got := p.tellsOf(); got != want {
			t.Errorf("%s: it tells %d times, want %d", when, got, want)
		}
	}
	told("before anything has arrived", 0)
	write(t, client, "GET ")
	received := make([]byte, 1)
	for _, err := c.peek(received); errors.Is(err, syscall.EAGAIN); _, err = c.peek(received) {
		time.Sleep(time.Millisecond)
	}
	told("it has arrived", 1)
	told("it has been told of", 0)
	c.missed = true
	told("it has been missed", 1)
	_, _ = c.receive(make([]byte, 16))
	c.missed = true
	told("it was read after all", 0)
	_ = client.(*net.TCPConn).SetLinger(0) // its end is a reset
	_ = client.Close()
	for !c.hasEnded() {
		time.Sleep(time.Millisecond)
	}
	if p.tellsOf() != 1 || p.tellsOf() != 0 {
		t.Error("it does not tell of a reset once")
	}
}

// It is behind a request, and the lane goes on with another connection.
func TestWhatArrivesWhileItsConnectionIsServedIsNotLost(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	c, next := openParked(t, s), s.openIdle(t)
	s.requestAll(t, []net.Conn{c, next})
	request(t, c)
	s.await(t, "told", func(Stats) bool {
		s.queue.mu.Lock()
		defer s.queue.mu.Unlock()
		for n := range s.queue.lanes {
			return n.missed
		}
		return false
	})
	for i, c := range []net.Conn{c, next, c} {
		s.next <- struct{}{}
		if got := status(t, c); got != 200 {
			t.Errorf("request %d: status %d", i, got)
		}
	}
}

// A read stops before it, and all has arrived by then.
func TestWhatIsBehindUrgentDataIsNotLost(t *testing.T) {
	t.Parallel()
	s := start(t, 1, time.Minute)
	other := s.open(t, "")
	c := openParked(t, s)
	s.queue.mu.Lock() // for which the poller waits in the other one
	write(t, other, "G")
	time.Sleep(20 * time.Millisecond)
	write(t, c, atOnce[:20])
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err == nil {
		err = control(raw, func(fd int) error { return unix.Sendto(fd, []byte("!"), unix.MSG_OOB, nil) })
	}
	write(t, c, atOnce[20:])
	s.queue.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if got := status(t, c); got != 200 {
		t.Errorf("status %d", got)
	}
}

// A poller that told of it would take a core until its client has gone.
func TestRefusedConnectionThatLingersIsIgnored(t *testing.T) {
	t.Parallel()
	s := startWith(t, 1, admission.Limits{Burst: time.Minute})
	c := openParked(t, s)
	for i := range busyShare + 2 { // the place and the queue
		s.send(t)
		s.await(t, "busy, or waits", func(st Stats) bool { return st.Busy+st.Waiting == i+1 })
	}
	write(t, c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nbegins")
	if got := status(t, c); got != 503 {
		t.Errorf("status %d, want 503", got)
	}
	_ = c.(*net.TCPConn).CloseWrite()
	s.await(t, "told", func(Stats) bool {
		s.queue.mu.Lock()
		defer s.queue.mu.Unlock()
		return s.queue.inHand == 0
	})
	p := s.queue.poller
	p.tellsOf() // once, of the end of both sides
	if n := p.tellsOf(); n > 0 {
		t.Errorf("the poller tells of %d connections", n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		if c.lingers {
			t.Error("the poller keeps the connection")
		}
	}
}
