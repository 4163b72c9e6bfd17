package lab

import (
	"net"
	"strconv"
	"testing"

	"example.com/flashsale/internal/check"
)

// Two labs may draw the same port. The Redis that took it would reply for the other,
// and end with its own test.
func TestRedisOnATakenPortIsNotReady(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short excludes tests with servers")
	}
	l, err := Open()
	check.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	first, err := StartRedisTCP(l)
	check.NoError(t, err)
	_, text, err := net.SplitHostPort(first.Address)
	check.NoError(t, err)
	port, err := strconv.Atoi(text)
	check.NoError(t, err)
	for range 20 {
		if _, err := startRedisOnPort(l, port, nil); err == nil {
			t.Fatal("a Redis is ready on the port of another")
		}
	}
}
