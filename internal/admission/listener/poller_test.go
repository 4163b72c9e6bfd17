package listener

import (
	"net"
	"net/http"
	"testing"
	"time"

	"example.com/flashsale/internal/admission"
)

// More arrives at one moment than the poller is told at a time.
func TestPollerTellsOfAllConnections(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler()}
	q, err := New(l, server, Config{Conns: 1000, Limits: admission.Limits{Burst: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(q) }()
	t.Cleanup(func() { _ = server.Close() })
	s := &site{Server: server, queue: q}
	const count = 700
	var conns []net.Conn
	for range count {
		conns = append(conns, s.open(t, ""))
	}
	s.await(t, "parked", func(st Stats) bool { return st.Idle == count })
	q.mu.Lock() // which makes the poller wait in the first one
	for _, c := range conns {
		request(t, c)
	}
	time.Sleep(20 * time.Millisecond) // until all are in the kernel
	q.mu.Unlock()
	for _, c := range conns {
		if got := status(t, c); got != 404 {
			t.Fatalf("status %d", got)
		}
	}
}
