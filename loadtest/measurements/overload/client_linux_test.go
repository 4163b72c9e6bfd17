package overload

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// A process with a low priority reads its replies late.
func TestReplyCountsFromItsArrivalAtTheSocket(t *testing.T) {
	t.Parallel()
	const late = 100 * time.Millisecond
	for range 10 { // the first replies may have no time stamp
		s := claimAndReadLate(t, late)
		if s.outcome != made {
			t.Fatalf("%+v", s)
		}
		if s.took < late/2 {
			return
		}
	}
	t.Errorf("every reply took the %s during which it was not read", late)
}

// claimAndReadLate claims at a server that replies at once, and reads the reply
// late after that.
func claimAndReadLate(t *testing.T, late time.Duration) sample {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	replied := make(chan struct{})
	go func() {
		defer close(replied)
		if conn, err := l.Accept(); err == nil {
			_, _ = conn.Read(make([]byte, 1024))
			_, _ = conn.Write([]byte("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"))
		}
	}()
	to, err := parseAddress(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := &clients{byFD: map[int]*client{}}
	if c.epoll, err = syscall.EpollCreate1(0); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(c.epoll)
	begin := time.Now()
	c.dial(to, arrival{begin: begin})
	for len(c.connects) == 0 && time.Since(begin) < 10*time.Second {
		c.poll(time.Millisecond) // connects, and sends the claim
	}
	<-replied
	time.Sleep(late)
	for len(c.samples) == 0 && time.Since(begin) < 10*time.Second {
		c.poll(time.Millisecond)
	}
	c.close()
	return c.samples[0]
}
