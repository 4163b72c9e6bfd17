package generator

import (
	"net"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

// A process with a low priority reads its replies late.
func TestReplyCountsFromItsArrivalAtTheSocket(t *testing.T) {
	t.Parallel()
	const late = 100 * time.Millisecond
	for range 10 { // the first replies may have no time stamp
		if claimAndReadLate(t, late) < late/2 {
			return
		}
	}
	t.Errorf("every reply took the %s during which it was not read", late)
}

// claimAndReadLate sends a request to a server that replies at once, and reads the
// reply late after that.
func claimAndReadLate(t *testing.T, late time.Duration) (took time.Duration) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	check.NoError(t, err)
	defer l.Close()
	replied := make(chan struct{})
	go func() {
		defer close(replied)
		if conn, err := l.Accept(); err == nil {
			_, _ = conn.Read(make([]byte, 1024))
			_, _ = conn.Write([]byte("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"))
		}
	}()
	request := func(b []byte, _ int) []byte { return AppendClaim(b, "test", "1", 1, nil) }
	g, err := New(l.Addr().String(), testTimeout, request, func(r Reply) {
		if took = r.Took(); r.Err != nil {
			t.Fatal(r.Err)
		}
	})
	check.NoError(t, err)
	defer g.Close()
	check.NoError(t, g.Connect(t.Context(), 1))
	g.send(time.Now())
	<-replied
	time.Sleep(late)
	g.Drain(t.Context())
	return took
}
