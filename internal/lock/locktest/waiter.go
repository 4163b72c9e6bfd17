package locktest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lock"
)

// A refusedOnce is a Locker that records the first refusal of a waiter. It is
// nothing but a lock.Locker.
type refusedOnce struct {
	lock.Locker
	refusals chan error
}

func (r refusedOnce) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	lease, err := r.Locker.TryLock(ctx, key, ttl)
	if errors.Is(err, lock.ErrLocked) {
		select {
		case r.refusals <- err:
		default:
		}
	}
	return lease, err
}

// refusalTellsAWaiterTheTimeLeft holds a key that is then extended.
func (s suite) refusalTellsAWaiterTheTimeLeft(t *testing.T) {
	t.Parallel()
	if !s.promises.Exclusive {
		t.Skip("the driver refuses nobody")
	}
	key, start := newKey(), time.Now()
	lease := MustTryLock(t, s.open(t), key, longTTL/2)
	s.wantTold(t, key, start, longTTL/2)
	start = time.Now()
	check.NoError(t, lease.Extend(t.Context(), longTTL)) // more than that not every server grants
	s.wantTold(t, key, start, longTTL)
}

// wantTold checks the refusal of a waiter for a key whose lease of ttl began
// after start.
func (s suite) wantTold(t *testing.T, key string, start time.Time, ttl time.Duration) {
	t.Helper()
	refused := refusedOnce{s.open(t), make(chan error, 1)}
	for deadline := time.Now().Add(timeout); ; { // a busy server may not reply in time
		_, err := lock.New(refused).Acquire(t.Context(), key, lock.Options{Wait: time.Millisecond})
		if errors.Is(err, lock.ErrLocked) {
			break
		}
		if err == nil || time.Now().After(deadline) {
			t.Fatalf("Acquire of a locked key: %v, want ErrLocked", err)
		}
	}
	refusal, age := <-refused.refusals, time.Since(start)
	locked, told := errors.AsType[*lock.LockedError](refusal)
	switch {
	case told != s.promises.Tells:
		t.Errorf("a waiter's refusal is %#v, want the time left: %t", refusal, s.promises.Tells)
	case told && (locked.Left > ttl+s.promises.Tick || locked.Left < ttl-age-s.promises.Tick):
		t.Errorf("%s after the begin of a lease of %s it has %s left", age, ttl, locked.Left)
	}
}

// lateRequestLeavesNoKey delivers the request of a TryLock whose caller has given
// up after the release that cleans up. A delivery that comes too late, because
// the machine is busy, is no test, and is repeated.
func (s faultSuite) lateRequestLeavesNoKey(t *testing.T) {
	faulty, healthy, proxy := s.clients(t)
	for range 20 {
		if key, late := s.giveUp(t, faulty, proxy); late {
			time.Sleep(100 * time.Millisecond) // until the server has run the request
			check.NoError(t, eventuallyTryLock(t, healthy, key).Release(t.Context()))
			return
		}
	}
	t.Fatal("no request was late")
}

// giveUp makes a request that reaches the server soon after its caller has given
// up, and reports whether that succeeded.
func (s faultSuite) giveUp(t *testing.T, l lock.Locker, proxy *faultproxy.Proxy) (key string, late bool) {
	t.Helper()
	key, held := newKey(), proxy.Hold("")
	defer held.Deliver()
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	lease, err := l.TryLock(ctx, key, longTTL)
	if err == nil {
		check.NoError(t, lease.Release(t.Context()))
		return key, false
	}
	WantUnknown(t, err)
	patience := time.Since(start)
	held.Deliver()
	return key, held.Caught() && time.Since(start) < patience*3/2
}

// waitOutlastsAnOutage lets a waiter make a request whose outcome is unknown.
// After it the service replies again, and the holder releases the key.
func (s faultSuite) waitOutlastsAnOutage(t *testing.T) {
	faulty, healthy, proxy := s.clients(t)
	key, unknown, acquired := newKey(), make(chan struct{}), make(chan error, 1)
	held := MustTryLock(t, healthy, key, longTTL)
	proxy.Inject(faultproxy.HangRequest, "", faultproxy.Always)
	retried := sync.OnceFunc(func() { close(unknown) })
	c := lock.New(faulty, lock.WithObserver(func(e lock.Event) {
		if e.Kind == lock.EventRetried {
			retried()
		}
	}))
	t.Cleanup(c.Close)
	go func() {
		acquired <- c.Do(t.Context(), key, lock.Options{TTL: longTTL, Wait: timeout},
			func(context.Context, *lock.Lock) error { return nil })
	}()
	select {
	case <-unknown:
	case err := <-acquired:
		t.Fatalf("the wait ended in the outage: %v", err)
	}
	proxy.Heal()
	check.NoError(t, held.Release(t.Context()))
	check.NoError(t, <-acquired)
}
