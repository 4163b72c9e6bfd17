package zklock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/zklock"
)

func TestWaitersAreServedInOrder(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	conn := tree(t, server)
	clients := []*zklock.Locker{open(t, server, 5*time.Second), open(t, server, 5*time.Second)}
	held := take(t, clients[0], key)
	const n = 6
	served := make(chan int, n)
	var waiting sync.WaitGroup
	for i := range n {
		waiting.Go(func() {
			lease, err := clients[i%2].Lock(t.Context(), key, time.Minute)
			if err != nil {
				t.Error(err)
				return
			}
			served <- i
			time.Sleep(10 * time.Millisecond) // whoever overtakes has time to
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
		soon(t, "waited for a waiter", func() bool { return len(nodes(t, conn, key)) == i+2 })
	}
	fine(t, "Release", held.Release(t.Context()))
	waiting.Wait()
	close(served)
	want := 0
	for got := range served {
		if got != want {
			t.Errorf("waiter %d was served as number %d", got, want)
		}
		want++
	}
}

// When the queue's middle goes, nobody gets the lock by it, and the next one
// waits on for the one before that.
func TestGivingUpMakesNobodyHolder(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	conn, l := tree(t, server), open(t, server, 5*time.Second)
	held := take(t, l, key)
	middle, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = l.Lock(middle, key, time.Minute)
	}()
	soon(t, "waited for the middle", func() bool { return len(nodes(t, conn, key)) == 2 })
	last := make(chan error, 1)
	go func() {
		lease, err := l.Lock(t.Context(), key, time.Minute)
		if err == nil {
			err = lease.Release(context.Background())
		}
		last <- err
	}()
	soon(t, "waited for the last", func() bool { return len(nodes(t, conn, key)) == 3 })
	leave()
	<-gone
	select {
	case err := <-last:
		t.Errorf("Lock behind one who gave up: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	fine(t, "Release", held.Release(t.Context()))
	fine(t, "Lock of the last", <-last)
}

// A waiter keeps its place over an interruption of its line.
func TestWaiterSurvivesInterruption(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	line, err := faultproxy.New("tcp", server.Address)
	fine(t, "proxy", err)
	defer line.Close()
	l, err := zklock.Open([]string{line.Addr()}, 10*time.Second)
	fine(t, "open", err)
	defer l.Close()
	conn := tree(t, server)
	held := take(t, open(t, server, 5*time.Second), key)
	got := make(chan error, 1)
	go func() {
		_, err := l.Lock(t.Context(), key, time.Minute)
		got <- err
	}()
	soon(t, "waited for the waiter", func() bool { return len(nodes(t, conn, key)) == 2 })
	before := nodes(t, conn, key)
	line.Disconnect()
	time.Sleep(200 * time.Millisecond)
	if after := nodes(t, conn, key); len(after) != 2 || after[0] != before[0] || after[1] != before[1] {
		t.Errorf("line %v became %v", before, after)
	}
	line.Inject(faultproxy.LoseRequest, key, 1) // what it asks when it is woken
	fine(t, "Release", held.Release(t.Context()))
	fine(t, "Lock", <-got)
}
