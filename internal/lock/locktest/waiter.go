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

// refusalTellsTheTimeLeft holds a key that is then extended.
func (s suite) refusalTellsTheTimeLeft(t *testing.T) {
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

// wantTold checks the refusal of a key whose lease of ttl began after start.
func (s suite) wantTold(t *testing.T, key string, start time.Time, ttl time.Duration) {
	t.Helper()
	l := s.open(t)
	refusal := verdict(t, func(ctx context.Context) error {
		_, err := l.TryLock(ctx, key, time.Second)
		return err
	})
	check.ErrorIs(t, refusal, lock.ErrLocked)
	age := time.Since(start)
	locked, told := errors.AsType[*lock.LockedError](refusal)
	switch {
	case told != s.promises.Tells:
		t.Errorf("the refusal is %#v, want the time left: %t", refusal, s.promises.Tells)
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
	key, unknown := newKey(), make(chan struct{})
	held := MustTryLock(t, healthy, key, longTTL)
	proxy.Inject(faultproxy.HangRequest, "", faultproxy.Always)
	retried := sync.OnceFunc(func() { close(unknown) })
	c := lock.New(faulty, lock.WithObserver(func(e lock.Event) {
		if e.Kind == lock.EventRetried {
			retried()
		}
	}))
	t.Cleanup(c.Close)
	acquired := check.Begin(func() error {
		return c.Do(t.Context(), key, lock.Options{TTL: longTTL, Wait: timeout},
			func(context.Context, *lock.Lock) error { return nil })
	})
	select {
	case <-unknown:
	case err := <-acquired:
		t.Fatalf("the wait ended in the outage: %v", err)
	}
	proxy.Heal()
	check.NoError(t, held.Release(t.Context()))
	check.NoError(t, <-acquired)
}
