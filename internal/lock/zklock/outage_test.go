package zklock_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/zklock"
)

func TestDeadServerLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	server := labtest.ZooKeeper(t)
	l, key := open(t, server, time.Minute), labtest.Name(t)
	lease := mustTryLock(t, l, key)
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := l.TryLock(ctx, labtest.Name(t), ttl)
	wantUnknown(t, "TryLock", err)
	wantUnknown(t, "Extend", lease.Extend(ctx, ttl))
	noError(t, "restart", server.Restart())
	eventually(t, "the session to return", func() bool { return lease.Extend(t.Context(), ttl) == nil })
	noError(t, "Release", lease.Release(t.Context()))
}

// Without a session, requests do not wait for one.
func TestUnreachableServerIsReportedAtOnceAfterTheSessionTimeout(t *testing.T) {
	t.Parallel()
	l, err := zklock.Open([]string{"127.0.0.1:1"}, time.Second)
	noError(t, "open", err)
	defer l.Close()
	_, err = l.TryLock(t.Context(), labtest.Name(t), ttl)
	wantUnknown(t, "TryLock", err)
}

func TestCloseEndsAWaitForAServer(t *testing.T) {
	t.Parallel()
	l, err := zklock.Open([]string{"127.0.0.1:1"}, 100*time.Millisecond)
	noError(t, "open", err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := l.Lock(ctx, labtest.Name(t), ttl)
		ended <- err
	}()
	time.Sleep(200 * time.Millisecond) // let the waiter find that there is no session
	l.Close()
	wantUnknown(t, "Lock", <-ended)
	noError(t, "the wait was ended by its context", ctx.Err())
}

// The goroutines and nodes of claims that give up must not add up while the
// server is away or silent.
func TestClaimsThatGiveUpLeaveNoGoroutines(t *testing.T) {
	for name, takeDown := range map[string]func(*lab.ZooKeeper){
		"silent": func(z *lab.ZooKeeper) { z.Pause() }, "dead": func(z *lab.ZooKeeper) { z.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			server := labtest.ZooKeeper(t)
			l := open(t, server, time.Minute)
			noError(t, "Release", mustTryLock(t, l, labtest.Name(t)).Release(t.Context()))
			takeDown(server)
			defer server.Resume()
			before := runtime.NumGoroutine()
			var claims sync.WaitGroup
			for range 1000 {
				claims.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
					defer cancel()
					_, err := l.TryLock(ctx, labtest.Name(t), ttl)
					wantUnknown(t, "TryLock", err)
				})
			}
			claims.Wait()
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
	server := labtest.SharedZooKeeper(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, "listen", err)
	defer listener.Close()
	go func() {
		silent, err := listener.Accept()
		if err != nil {
			return
		}
		defer silent.Close()
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go forward(client, server.Address)
		}
	}()
	const timeout = 20 * time.Second
	l, err := zklock.Open([]string{listener.Addr().String(), listener.Addr().String()}, timeout)
	noError(t, "open", err)
	defer l.Close()
	mustTryLock(t, l, labtest.Name(t)) // waits for the session timeout at most
}

// forward connects client to the server at address.
func forward(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, client) }()
	_, _ = io.Copy(client, server)
}
