package drivers_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock/drivers"
)

// An instance is ready soon after its server is, however long that was away.
func TestEtcdIsDialledAgainAndAgain(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	var dials atomic.Int64
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			_ = conn.Close()
		}
	}()
	opened, err := drivers.Open(t.Context(), "etcd", drivers.Servers{Etcd: []string{l.Addr().String()}})
	check.NoError(t, err)
	t.Cleanup(opened.Close)
	check.Eventually(t, "the tenth attempt, which gRPC by default makes after two minutes", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		return opened.Ping(ctx) != nil && dials.Load() >= 10
	})
}
