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

// The server has it then: the poller would tell without end, and take a core.
func TestPollerIgnoresWhatIsNotParked(t *testing.T) {
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
	if err := p.await(c); err != nil {
		t.Fatal(err)
	}
	write(t, client, "GET ")
	received := make([]byte, 1)
	for _, err := c.peek(received); errors.Is(err, syscall.EAGAIN); _, err = c.peek(received) {
		time.Sleep(time.Millisecond)
	}
	for range 2 {
		if p.tellsOf() != 1 {
			t.Error("it does not tell of what has arrived, until that is read")
		}
	}
	p.ignore(c)
	if p.tellsOf() != 0 {
		t.Error("it tells of what it is to ignore")
	}
	_, _ = c.receive(make([]byte, 16))
	_ = client.(*net.TCPConn).SetLinger(0) // its end is a reset
	_ = client.Close()
	for !c.hasEnded() {
		time.Sleep(time.Millisecond)
	}
	if p.tellsOf() > 1 || p.tellsOf() != 0 {
		t.Error("it tells of a reset more than once")
	}
}

// The server reads on in a connection that was parked.
func TestServedConnectionIsIgnored(t *testing.T) {
	t.Parallel()
	s := startWith(t, 1, admission.Limits{Burst: time.Minute})
	c := openParked(t, s)
	request(t, c)
	s.await(t, "busy", func(st Stats) bool { return st.Busy == 1 })
	s.await(t, "ignored", func(Stats) bool {
		s.queue.mu.Lock()
		defer s.queue.mu.Unlock()
		for n := range s.queue.lanes {
			if n.busy && n.awaited {
				return false
			}
		}
		return true
	})
	s.next <- struct{}{}
	status(t, c)
}

// It would take a core until its client has gone.
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
