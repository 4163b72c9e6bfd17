package zklock_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/zklock"
)

// Without a session, requests do not wait for one.
func TestUnreachableServerIsReportedAtOnceAfterTheSessionTimeout(t *testing.T) {
	t.Parallel()
	l, err := zklock.Open([]string{"127.0.0.1:1"}, time.Second)
	check.NoError(t, err)
	defer l.Close()
	_, err = l.TryLock(t.Context(), labtest.Name(t), ttl)
	locktest.WantUnknown(t, err)
}

func TestCloseEndsAWaitForAServer(t *testing.T) {
	t.Parallel()
	l, err := zklock.Open([]string{"127.0.0.1:1"}, 100*time.Millisecond)
	check.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ended := locktest.Wait(ctx, l, labtest.Name(t), ttl)
	time.Sleep(200 * time.Millisecond) // let the waiter find that there is no session
	l.Close()
	locktest.WantUnknown(t, <-ended)
	check.NoError(t, ctx.Err())
}

// The goroutines and nodes of claims that give up must not add up while the
// server is away or silent.
func TestClaimsThatGiveUpLeaveNoGoroutines(t *testing.T) {
	for name, takeDown := range map[string]func(*faultproxy.Proxy){
		"silent": (*faultproxy.Proxy).Partition, "dead": func(p *faultproxy.Proxy) { _ = p.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			l, proxy := openThroughProxy(t, labtest.SharedZooKeeper(t), time.Minute)
			check.NoError(t, locktest.MustTryLock(t, l, labtest.Name(t), ttl).Release(t.Context()))
			takeDown(proxy)
			before := runtime.NumGoroutine()
			check.AtOnce(1000, func(int) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
				defer cancel()
				_, err := l.TryLock(ctx, labtest.Name(t), ttl)
				locktest.WantUnknown(t, err)
			})
			if n := runtime.NumGoroutine() - before; n > 300 {
				t.Errorf("1000 claims that gave up left %d goroutines", n)
			}
		})
	}
}

// The client library alone waits ten times two thirds of the session timeout for
// a server that accepts a connection and does not reply.
func TestSilentHandshakeIsGivenUp(t *testing.T) {
	t.Parallel()
	proxy := labtest.Proxy(t, labtest.SharedZooKeeper(t).Address)
	proxy.Inject(faultproxy.HangRequest, "", 1)
	l, err := zklock.Open([]string{proxy.Addr(), proxy.Addr()}, 20*time.Second)
	check.NoError(t, err)
	defer l.Close()
	locktest.MustTryLock(t, l, labtest.Name(t), ttl) // waits for the session timeout at most
	if proxy.Hits() != 1 {
		t.Error("the handshake was replied to")
	}
}
