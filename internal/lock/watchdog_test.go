package lock

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/check"
)

func TestWatchdogRenewsEachLockEveryThirdOfItsTTLUntilItsRelease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const count, ttl, periods = 100, 30 * time.Second, 6
		l := &fake{Locker: Local()}
		c := New(l)
		locks := make([]*Lock, count)
		for i := range locks {
			h, err := c.Acquire(t.Context(), fmt.Sprint(i), Options{TTL: ttl})
			check.NoError(t, err)
			locks[i] = h
		}
		time.Sleep(periods*ttl/3 + time.Second)
		for i, h := range locks {
			if _, err := l.TryLock(t.Context(), fmt.Sprint(i), time.Second); !errors.Is(err, ErrLocked) {
				t.Fatalf("another's try: %v, want ErrLocked", err)
			}
			check.NoError(t, h.Release(t.Context()))
		}
		time.Sleep(time.Minute)
		if n := l.extends.Load(); n != periods*count {
			t.Errorf("%d renewals in %d times a third of the ttl, want %d", n, periods, periods*count)
		}
		if len(c.held) != 0 {
			t.Error("the client keeps released locks")
		}
	})
}

func TestRenewalWithoutAReplyIsRepeatedInTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &fake{Locker: Local()}
		l.extended = func(ctx context.Context) error {
			if l.extends.Load() == 1 {
				return hang(ctx)
			}
			return nil
		}
		h := mustAcquire(t, New(l), t.Context(), Options{TTL: 30 * time.Second})
		time.Sleep(time.Minute)
		check.NoError(t, h.Release(t.Context()))
	})
}

func TestUncontendedLockAllocatesLittle(t *testing.T) {
	c, ctx := New(None()), t.Context()
	allocs := testing.AllocsPerRun(1000, func() {
		h, err := c.Acquire(ctx, "redis_lock:userId:42", Options{TTL: time.Minute})
		check.NoError(t, err)
		_ = h.Release(ctx)
	})
	if allocs > 11 { // two for the lock, one for the lease, two for its timer, the rest for the context of the release
		t.Errorf("%.0f allocations for a lock, want at most 11", allocs)
	}
}

func TestLateRenewalIsReported(t *testing.T) {
	t.Parallel()
	const ttl = 30 * time.Second
	for outage, want := range map[time.Duration]EventKind{0: EventRenewed, 15 * time.Second: EventRenewed,
		25 * time.Second: EventRenewedLate} {
		synctest.Test(t, func(t *testing.T) {
			renewals := make(chan EventKind, 10)
			f, up := &fake{Locker: Local()}, time.Now().Add(outage)
			f.extended = func(context.Context) error {
				if time.Now().Before(up) {
					return errDown
				}
				return nil
			}
			c := New(f, WithObserver(func(e Event) {
				if e.Kind == EventRenewed || e.Kind == EventRenewedLate {
					renewals <- e.Kind
				}
			}))
			l, err := c.Acquire(t.Context(), "key", Options{TTL: ttl})
			check.NoError(t, err)
			time.Sleep(ttl - time.Second)
			check.NoError(t, l.Release(t.Context()))
			if first := <-renewals; first != want {
				t.Errorf("outage of %s: first renewal %v, want %v", outage, first, want)
			}
		})
	}
}

// The process was stopped beyond the deadline, when the renewal was due as well. A stopped process
// runs no timer: that of the lock is stopped, and comes late, or after whatever the process does first.
func TestStoppedProcessLearnsOfItsLossFromWhateverItDoesFirst(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(*Lock) error{
		"Err": (*Lock).Err,
		"re-entry": func(h *Lock) error {
			_, err := h.grant.client.Acquire(h.Context(), "k", Options{Reentrant: true})
			return err
		},
		"the timer": func(h *Lock) error { h.grant.renew(); return h.grant.ended() },
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &fake{Locker: Local()}
			var seen eventKinds
			h := mustAcquire(t, New(l, WithObserver(seen.add)), t.Context(), Options{TTL: 30 * time.Second})
			ctx, done := h.Context(), h.Done()
			stopTimer(h)
			time.Sleep(29 * time.Second)
			check.NoError(t, h.Err())
			time.Sleep(time.Second)
			if err := first(h); !errors.Is(err, ErrLost) {
				t.Errorf("%s: %v, want ErrLost", name, err)
			}
			wantEnded(t, ctx, done)
			check.ErrorIs(t, h.Release(t.Context()), ErrLost)
			seen.want(t, EventAcquired, EventLost)
			if n := l.extends.Load(); n != 0 {
				t.Errorf("%s: %d extensions after the deadline, want none", name, n)
			}
		})
	}
}

// While a machine is suspended, Go's clock stands still.
func TestErrCountsTheTimeOfASuspension(t *testing.T) {
	t.Parallel()
	if sinceBoot() == 0 {
		t.Skip("this system has no clock that counts a suspension")
	}
	c := New(Local())
	h := mustAcquire(t, c, t.Context(), Options{TTL: 30 * time.Second})
	h.grant.mu.Lock()
	h.grant.extended.boot -= 31 * time.Second
	h.grant.mu.Unlock()
	check.ErrorIs(t, h.Err(), ErrLost)
	wantEnded(t, h.Context(), h.Done())
	_ = h.Release(t.Context())
}

func stopTimer(l *Lock) {
	l.grant.mu.Lock()
	defer l.grant.mu.Unlock()
	l.grant.timer.Stop()
}

func wantEnded(t *testing.T, ctx context.Context, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	default:
		t.Error("Done is open after Err has reported a loss")
	}
	if cause := context.Cause(ctx); !errors.Is(cause, ErrLost) {
		t.Errorf("the context's cause is %v, want ErrLost", cause)
	}
}
