package listener

import (
	"io"
	"net"
	"testing"
	"time"

	"example.com/flashsale/internal/admission"
)

// A lateListener accepts nothing until resumed is closed.
type lateListener struct {
	*net.TCPListener
	resumed chan struct{}
}

func (l lateListener) Accept() (net.Conn, error) {
	<-l.resumed
	return l.TCPListener.Accept()
}

// nginx does not repeat a claim that it has sent, and the kernel tells it of the
// connection before it is accepted.
func TestDrainServesConnectionsThatAreNotAccepted(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	late := lateListener{l.(*net.TCPListener), make(chan struct{})}
	s := startOn(t, late, 2, admission.Limits{Burst: time.Minute, Standing: time.Minute})
	var conns []net.Conn
	for range 4 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			_, err = io.WriteString(conn, atOnce)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		conns = append(conns, conn)
	}
	drained := make(chan error, 1)
	go func() { drained <- s.queue.Drain(t.Context()) }()
	time.AfterFunc(50*time.Millisecond, func() { close(late.resumed) }) // Drain would have closed the listener by then
	for _, c := range conns {
		if got := status(t, c); got != 200 {
			t.Errorf("status %d", got)
		}
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}
