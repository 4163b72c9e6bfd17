package locktest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
)

// RunQueue checks a driver whose service queues the waiters of a key. The lockers are two
// clients, and waiters returns how many wait for a key.
func RunQueue(t *testing.T, lockers [2]lock.BlockingLocker, waiters func(t *testing.T, key string) int) {
	q := queueSuite{lockers, waiters}
	t.Run("WaitersAreServedInOrder", q.waitersAreServedInOrder)
	t.Run("CancelledWaiterGrantsNothingToItsSuccessor", q.cancelledWaiterGrantsNothing)
}

type queueSuite struct {
	lockers [2]lock.BlockingLocker
	waiters func(*testing.T, string) int
}

// wait has the i-th waiter join the queue. It locks until served returns.
func (q queueSuite) wait(t *testing.T, ctx context.Context, key string, i int, served func()) <-chan error {
	t.Helper()
	returned := check.Begin(func() error {
		lease, err := q.lockers[i%2].Lock(ctx, key, time.Minute)
		if err == nil {
			served()
			err = lease.Release(context.Background())
		}
		return err
	})
	check.Eventually(t, "the waiter is in the queue", func() bool { return q.waiters(t, key) == i+1 })
	return returned
}

func (q queueSuite) waitersAreServedInOrder(t *testing.T) {
	t.Parallel()
	const n = 6
	key, served := newKey(), make(chan int, n)
	held := MustTryLock(t, q.lockers[0], key, time.Minute)
	var waiting sync.WaitGroup
	for i := range n {
		returned := q.wait(t, t.Context(), key, i, func() {
			served <- i
			time.Sleep(10 * time.Millisecond) // gives a waiter that is out of order the time to show
		})
		waiting.Go(func() {
			if err := <-returned; err != nil {
				t.Error(err)
			}
		})
	}
	check.NoError(t, held.Release(t.Context()))
	waiting.Wait()
	for want := range n {
		if got := <-served; got != want {
			t.Errorf("waiter %d was served in place %d", got, want)
		}
	}
}

// When a waiter in the middle of the queue is cancelled, its successor continues to wait
// for the holder.
func (q queueSuite) cancelledWaiterGrantsNothing(t *testing.T) {
	t.Parallel()
	key := newKey()
	held := MustTryLock(t, q.lockers[0], key, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	middle := q.wait(t, ctx, key, 0, func() {})
	last := q.wait(t, t.Context(), key, 1, func() {})
	cancel()
	if err := <-middle; !errors.Is(err, context.Canceled) { // it may be queued before it hears of the holder
		t.Errorf("Lock whose context ended: %v, want the cause", err)
	}
	select {
	case err := <-last:
		t.Fatalf("Lock behind a cancelled waiter returned %v, want it to wait for the holder", err)
	case <-time.After(200 * time.Millisecond):
	}
	check.NoError(t, held.Release(t.Context()))
	check.NoError(t, <-last)
}
