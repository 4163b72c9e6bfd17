package locktest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
)

func (s suite) lockReturnsWhenItsContextEnds(t *testing.T) {
	l, key := mustBe[lock.BlockingLocker](t, s.open(t)), newKey()
	first := MustTryLock(t, s.open(t), key, longTTL)
	err := error(nil)
	for wait := 100 * time.Millisecond; !errors.Is(err, lock.ErrLocked); wait *= 2 {
		if wait > timeout {
			t.Fatalf("Lock whose context ended: %v, want ErrLocked", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err = l.Lock(ctx, key, longTTL) // may not hear of the holder in time on a busy machine
		cancel()
	}
	check.ErrorIs(t, err, context.DeadlineExceeded)
	check.NoError(t, first.Release(t.Context()))
	eventuallyTryLock(t, s.open(t), key) // no cancelled waiter is left in the queue
}

// A signallingLocker closes locking at the first call of Lock.
type signallingLocker struct {
	lock.BlockingLocker
	locking chan struct{}
}

func (l signallingLocker) Lock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	close(l.locking)
	return l.BlockingLocker.Lock(ctx, key, ttl)
}

// waiterBehindAQueuedOneIsRefused has two waiters in one client: the service knows
// the first only, and the second knows from it that the key is held.
func (s suite) waiterBehindAQueuedOneIsRefused(t *testing.T) {
	l, key := signallingLocker{mustBe[lock.BlockingLocker](t, s.open(t)), make(chan struct{})}, newKey()
	MustTryLock(t, s.open(t), key, longTTL)
	c, done := lock.New(l), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		_, _ = c.Acquire(ctx, key, lock.Options{TTL: longTTL, Wait: longTTL})
	}()
	defer func() { cancel(); <-done }()
	<-l.locking
	var err error
	for start := time.Now(); !errors.Is(err, lock.ErrLocked); {
		if time.Since(start) > timeout {
			t.Fatalf("a waiter behind another: %v, want ErrLocked", err)
		}
		_, err = c.Acquire(t.Context(), key, lock.Options{TTL: longTTL, Wait: 10 * time.Millisecond})
	}
}

// doRunsOneFunctionAtATime increments a counter non-atomically under
// lock.Client.Do.
func (s suite) doRunsOneFunctionAtATime(t *testing.T) {
	if !s.promises.Exclusive {
		t.Skip("the driver promises no exclusion")
	}
	const clients, perClient = 3, 20
	var all []*lock.Client
	for _, l := range s.openEach(t, clients) {
		all = append(all, lock.New(l))
	}
	var count atomic.Int64
	key := newKey()
	check.AtOnce(clients*perClient, func(i int) {
		err := all[i%clients].Do(t.Context(), key, lock.Options{TTL: longTTL, Wait: longTTL},
			func(context.Context, *lock.Lock) error {
				n := count.Load()
				time.Sleep(200 * time.Microsecond)
				count.Store(n + 1)
				return nil
			})
		if err != nil {
			t.Error(err)
		}
	})
	if n := count.Load(); n != clients*perClient {
		t.Errorf("the counter is %d after %d increments", n, clients*perClient)
	}
}
