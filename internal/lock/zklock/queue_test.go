package zklock_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/zklock"
)

func TestWaitersAreServedInOrder(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	conn := connect(t, server)
	clients := []*zklock.Locker{open(t, server, 5*time.Second), open(t, server, 5*time.Second)}
	held := mustTryLock(t, clients[0], key)
	const n = 6
	served := make(chan int, n)
	var waiting sync.WaitGroup
	for i := range n {
		waiting.Go(func() {
			lease, err := clients[i%2].Lock(t.Context(), key, ttl)
			if err != nil {
				t.Error(err)
				return
			}
			served <- i
			time.Sleep(10 * time.Millisecond) // gives a waiter that is out of order the time to show
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
		eventually(t, "the waiter's node", func() bool { return len(nodes(t, conn, key)) == i+2 })
	}
	noError(t, "Release", held.Release(t.Context()))
	waiting.Wait()
	close(served)
	want := 0
	for got := range served {
		if got != want {
			t.Errorf("waiter %d was served in place %d", got, want)
		}
		want++
	}
}

// When a waiter in the middle of the queue is cancelled, its successor
// continues to wait for the holder.
func TestCancelledWaiterGrantsNothingToItsSuccessor(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	conn, l := connect(t, server), open(t, server, 5*time.Second)
	held := mustTryLock(t, l, key)
	middle, cancel := context.WithCancel(t.Context())
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		_, _ = l.Lock(middle, key, ttl)
	}()
	eventually(t, "the middle waiter's node", func() bool { return len(nodes(t, conn, key)) == 2 })
	last := make(chan error, 1)
	go func() {
		lease, err := l.Lock(t.Context(), key, ttl)
		if err == nil {
			err = lease.Release(context.Background())
		}
		last <- err
	}()
	eventually(t, "the last waiter's node", func() bool { return len(nodes(t, conn, key)) == 3 })
	cancel()
	<-returned
	select {
	case err := <-last:
		t.Fatalf("Lock behind a cancelled waiter returned %v, want it to wait for the holder", err)
	case <-time.After(200 * time.Millisecond):
	}
	noError(t, "Release", held.Release(t.Context()))
	noError(t, "Lock by the last waiter", <-last)
}

func TestWaiterKeepsItsPlaceAcrossADisconnect(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	proxy, err := faultproxy.New("tcp", server.Address)
	noError(t, "proxy", err)
	defer proxy.Close()
	l, err := zklock.Open([]string{proxy.Addr()}, 10*time.Second)
	noError(t, "open", err)
	defer l.Close()
	conn := connect(t, server)
	held := mustTryLock(t, open(t, server, 5*time.Second), key)
	got := make(chan error, 1)
	go func() {
		_, err := l.Lock(t.Context(), key, ttl)
		got <- err
	}()
	eventually(t, "the waiter's node", func() bool { return len(nodes(t, conn, key)) == 2 })
	awaitWatch(t, server, key)
	before := nodes(t, conn, key)
	proxy.Disconnect()
	time.Sleep(200 * time.Millisecond)
	if after := nodes(t, conn, key); len(after) != 2 || after[0] != before[0] || after[1] != before[1] {
		t.Errorf("the queue changed from %v to %v", before, after)
	}
	proxy.Inject(faultproxy.LoseRequest, key, 1) // the waiter's first request after its watch fires
	noError(t, "Release", held.Release(t.Context()))
	noError(t, "Lock", <-got)
}

// Curator's revocation writes data into the holder's node. That is no release.
func TestChangedNodeOfTheHolderGrantsNothing(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	conn, l := connect(t, server), open(t, server, 5*time.Second)
	held := mustTryLock(t, l, key)
	got := make(chan error, 1)
	go func() {
		_, err := l.Lock(t.Context(), key, ttl)
		got <- err
	}()
	eventually(t, "the waiter's node", func() bool { return len(nodes(t, conn, key)) == 2 })
	awaitWatch(t, server, key)
	names := nodes(t, conn, key)
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a[len(a)-10:], b[len(b)-10:]) })
	_, err := conn.Set("/locks/"+key+"/"+names[0], []byte("__REVOKE__"), -1)
	noError(t, "set", err)
	select {
	case err := <-got:
		t.Fatalf("Lock behind a holder returned %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	noError(t, "Release", held.Release(t.Context()))
	noError(t, "Lock", <-got)
}

// Other programs keep nodes of their own in the directory: a lock that counts them has
// no holder, and one that relies on their names panics.
func TestNodesThatAreNoLocksHoldNothing(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	conn, l := connect(t, server), open(t, server, time.Minute)
	createDirectory(t, conn, key)
	for _, name := range []string{"42", "item", "items", "lock-", "lock", "lock-1", "lock-x", "lock-99999999999",
		"lock-9999999999", "other-lock-0000000000", "0000000000", "_c_", "-lock-0000000000", "__LEASE__0000000000"} {
		_, err := conn.Create("/locks/"+key+"/"+name, nil, 0, zk.WorldACL(zk.PermAll))
		noError(t, "create "+name, err)
	}
	noError(t, "Release", mustTryLock(t, l, key).Release(t.Context()))
	lease, err := l.Lock(t.Context(), key, ttl)
	noError(t, "Lock", err)
	wantLocked(t, open(t, server, time.Minute), key)
	noError(t, "Release", lease.Release(t.Context()))
}

// A Java client's nodes, and those whose counter has wrapped around, are places in the
// queue.
func TestEveryLockNodeIsAPlaceInTheQueue(t *testing.T) {
	t.Parallel()
	server := labtest.SharedZooKeeper(t)
	conn, l := connect(t, server), open(t, server, time.Minute)
	for _, name := range []string{"lock-0000000000", "lock--2147483648", "lock--000000001",
		"_c_01234567-89ab-4def-8123-456789abcdef-lock-0000000000",
		"_c_01234567-89ab-4def-8123-456789abcdef-__READ__0000000000", "__WRIT__0000000000"} {
		key := labtest.Name(t)
		createDirectory(t, conn, key)
		_, err := conn.Create("/locks/"+key+"/"+name, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		noError(t, "create "+name, err)
		wantLocked(t, l, key)
	}
}

// createDirectory creates a lock's directory, which ZooKeeper will not delete.
func createDirectory(t *testing.T, conn *zk.Conn, key string) {
	t.Helper()
	if _, err := conn.CreateContainer("/locks", nil, zk.FlagContainer, zk.WorldACL(zk.PermAll)); err != nil &&
		!errors.Is(err, zk.ErrNodeExists) {
		t.Fatal(err)
	}
	_, err := conn.Create("/locks/"+key, nil, 0, zk.WorldACL(zk.PermAll))
	noError(t, "create the directory", err)
}
