package admission

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

const (
	request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	refusal = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
)

// serve serves on a bounded listener until the test ends.
func serve(t *testing.T, conns int, longest time.Duration) (*Listener, *http.Server) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	return serveOn(t, l, conns, longest)
}

func serveOn(t *testing.T, l net.Listener, conns int, longest time.Duration) (*Listener, *http.Server) {
	t.Helper()
	bounded := Bound(l, conns, Timeout(3*longest), []byte(refusal))
	return bounded, serveHTTP(t, bounded)
}

func serveHTTP(t *testing.T, l net.Listener) *http.Server {
	t.Helper()
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-served })
	return server
}

// connect returns a connection that has sent a request.
func connect(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
		_, err = io.WriteString(c, request)
	}
	check.NoError(t, err)
	return c
}

// status returns that of the response on c, or 0 if it is closed without one.
func status(t *testing.T, c net.Conn) int {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			t.Error("no response, and not closed")
		}
		return 0
	}
	return r.StatusCode
}

func TestConnectionsBeyondTheBoundWaitUntilOthersClose(t *testing.T) {
	t.Parallel()
	l, _ := serve(t, 2, time.Minute)
	var conns []net.Conn
	for range 4 {
		conns = append(conns, connect(t, l))
	}
	for i, c := range conns {
		if got := status(t, c); got != 200 {
			t.Errorf("connection %d: status %d", i, got)
		}
		if n := l.Conns().Open; n > 2 {
			t.Errorf("%d connections are open, want 2 at most", n)
		}
		_ = c.Close()
	}
}

func TestListenerIsCrowdedWhileAConnectionWaits(t *testing.T) {
	t.Parallel()
	l, _ := serve(t, 1, time.Minute)
	first := connect(t, l)
	if status(t, first) != 200 || l.Crowded() {
		t.Error("crowded by one connection")
	}
	second := connect(t, l)
	check.Eventually(t, "it is crowded", l.Crowded)
	_ = first.Close()
	if status(t, second) != 200 || l.Crowded() {
		t.Error("crowded, although the second is served")
	}
}

// A shortListener lacks an open file for the first connection.
type shortListener struct {
	net.Listener
	failed bool
}

func (l *shortListener) Accept() (net.Conn, error) {
	if !l.failed {
		l.failed = true
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestConnectionsAreAcceptedAfterFilesWereShort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	bounded, _ := serveOn(t, &shortListener{Listener: l}, 1, time.Minute)
	if got := status(t, connect(t, bounded)); got != 200 {
		t.Errorf("status %d", got)
	}
}

func TestConnectionThatWaitsForTooLongIsRefused(t *testing.T) {
	t.Parallel()
	l, _ := serve(t, 1, 50*time.Millisecond)
	first := connect(t, l)
	if got := status(t, first); got != 200 {
		t.Fatalf("the first connection: status %d", got)
	}
	for range 2 {
		if got := status(t, connect(t, l)); got != 503 {
			t.Errorf("beyond the bound: status %d", got)
		}
	}
	_ = first.Close()
	if got := status(t, connect(t, l)); got != 200 {
		t.Errorf("after it has closed: status %d", got)
	}
	if got := l.Conns().Refused; got != 2 {
		t.Errorf("%d were refused, want 2", got)
	}
}

func TestEveryConnectionOfAFloodIsAnswered(t *testing.T) {
	t.Parallel()
	l, _ := serve(t, 4, 10*time.Millisecond)
	check.AtOnce(1000, func(int) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, request)
		if status(t, c) == 0 {
			t.Error("a connection was closed without a response")
		}
	})
	if got := status(t, connect(t, l)); got != 200 {
		t.Errorf("after the flood: status %d", got)
	}
}

// A lateListener accepts nothing until resumed is closed.
type lateListener struct {
	net.Listener
	resumed chan struct{}
}

func (l lateListener) Accept() (net.Conn, error) {
	<-l.resumed
	return l.Listener.Accept()
}

func (l lateListener) SyscallConn() (syscall.RawConn, error) {
	return l.Listener.(*net.TCPListener).SyscallConn()
}

// nginx does not repeat a claim that it has sent, and the kernel tells it of the
// connection before it is accepted.
func TestDrainServesConnectionsThatAreNotAccepted(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	late := lateListener{l, make(chan struct{})}
	bounded := Bound(late, 4, Timeout(time.Minute), []byte(refusal))
	later := lateListener{bounded, make(chan struct{})}
	server := serveHTTP(t, later)
	var conns []net.Conn
	for range 4 {
		conns = append(conns, connect(t, l))
	}
	drained := make(chan error, 2)
	go func() {
		drained <- bounded.Drain(context.Background())
		drained <- server.Shutdown(context.Background())
	}()
	time.AfterFunc(50*time.Millisecond, func() { close(late.resumed) }) // without Drain it were closed by then
	time.AfterFunc(100*time.Millisecond, func() { close(later.resumed) })
	for i, c := range conns {
		if got := status(t, c); got != 200 {
			t.Errorf("connection %d: status %d", i, got)
		}
		_ = c.Close()
	}
	for range 2 {
		if err := <-drained; err != nil {
			t.Error(err)
		}
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("after the drain: %v", err)
	}
}
