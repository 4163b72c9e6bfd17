package zklock

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/locktest"
)

// ZooKeeper deletes an empty directory, and the next one begins its counters
// again. A node must hold the lock because it is first, whatever was true when
// its creation was decided.
func TestNodeThatComesSecondInANewDirectoryDoesNotHold(t *testing.T) {
	t.Parallel()
	slow, fast, key := mustOpen(t, time.Minute), mustOpen(t, time.Minute), labtest.Name(t)
	used, err := fast.TryLock(t.Context(), key, time.Second)
	if err != nil || used.Release(t.Context()) != nil {
		t.Fatal(err)
	}
	late, err := slow.newLease(t.Context(), key)
	check.NoError(t, err)
	if q, err := late.readQueue(t.Context()); err != nil || len(q) > 0 {
		t.Fatalf("queue %v, %v, want none", q, err)
	}
	if err := fast.conn.Delete(directory(key), -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	locktest.MustTryLock(t, fast, key, time.Second)
	if predecessor, err := late.join(t.Context()); err != nil || predecessor == "" {
		t.Errorf("join: predecessor %q, %v, want the holder", predecessor, err)
	}
}

// The request to create a node may be executed after the client has lost its
// connection, looked for the node and created another one.
func TestSecondNodeOfALeaseIsDeletedWithTheFirst(t *testing.T) {
	t.Parallel()
	l, key := mustOpen(t, time.Minute), labtest.Name(t)
	acquired := locktest.MustTryLock(t, l, key, time.Second)
	held := acquired.(*lease)
	held.uncertain = true
	if _, err := held.create(); err != nil {
		t.Fatal(err)
	}
	if predecessor, err := held.predecessor(t.Context()); err != nil || predecessor != "" {
		t.Errorf("predecessor %q, %v, want none", predecessor, err)
	}
	check.NoError(t, held.Release(t.Context()))
	if q, err := held.readQueue(t.Context()); err != nil || len(q) > 0 {
		t.Errorf("queue %v, %v, want none", q, err)
	}
}

// A client that gives up before its request is executed must not leave a node.
func TestNodeThatIsCreatedAfterItsDeletionIsDeletedAgain(t *testing.T) {
	t.Parallel()
	l, key := mustOpen(t, time.Minute), labtest.Name(t)
	held, err := l.newLease(t.Context(), key)
	if err != nil || held.createDirectory(t.Context()) != nil {
		t.Fatal(err)
	}
	held.requestedAt = time.Now().Add(-2 * time.Second) // as if it had been delayed so long
	held.sent.Store(true)
	held.withdraw(t.Context(), context.DeadlineExceeded) // deletes nothing
	if _, err := held.create(); err != nil {
		t.Fatal(err)
	}
	check.Eventually(t, "the node is deleted", func() bool {
		q, err := held.readQueue(t.Context())
		return err == nil && !slices.ContainsFunc(q, held.owns)
	})
}

// A waiter whose predecessor has gone between two requests must not leave a watch
// on its path: ZooKeeper and the client would keep it for ever.
func TestWaiterLeavesNoWatchOnAPredecessorThatHasGone(t *testing.T) {
	t.Parallel()
	waiter, err := mustOpen(t, time.Minute).newLease(t.Context(), labtest.Name(t))
	if err != nil || waiter.createDirectory(t.Context()) != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if deleted, err := waiter.awaitDeletion(ctx, waiter.id+"lock-0000000000"); err != nil || !deleted {
		t.Fatalf("awaitDeletion: %t, %v, want true", deleted, err)
	}
	if watched, err := labtest.SharedZooKeeper(t).Watched(t.Context(), waiter.dir+"/"); err != nil || watched {
		t.Errorf("watched: %t, %v, want no watch", watched, err)
	}
}

// ZooKeeper's counter goes from 2^31-1 to -2^31.
func TestQueueIsInOrderWhenItsCounterWrapsAround(t *testing.T) {
	t.Parallel()
	want := queue{"lock-2147483646", "_c_a-lock-2147483647", "lock--2147483648", "_c_b-lock--2147483647"}
	got := queue{want[2], want[0], want[3], want[1]}
	slices.SortFunc(got, bySequence)
	if !slices.Equal(got, want) {
		t.Errorf("the queue is %v, want %v", got, want)
	}
}
