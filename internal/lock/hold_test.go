package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// outage is Local behind a switch: while it is down, extensions and attempts
// fail without a verdict.
type outage struct {
	Locker
	down  atomic.Bool
	calls atomic.Int64 // of Extend
	tries atomic.Int64
}

var errDown = errors.New("down")

type outageLease struct {
	Lease
	o *outage
}

func (o *outage) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	o.tries.Add(1)
	if o.down.Load() {
		return nil, errDown
	}
	lease, err := o.Locker.TryLock(ctx, key, ttl)
	return &outageLease{lease, o}, err
}

func (l *outageLease) Extend(ctx context.Context, ttl time.Duration) error {
	l.o.calls.Add(1)
	if l.o.down.Load() {
		return errDown
	}
	return l.Lease.Extend(ctx, ttl)
}

func (l *outageLease) Release(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.Lease.Release(ctx)
}

func mustAcquire(t *testing.T, p *policy, ctx context.Context, l Locker, o Options) *Held {
	t.Helper()
	h, err := p.acquire(ctx, l, "k", o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestWatchdogKeepsALockForAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p policy
		l := &outage{Locker: Local()}
		h := mustAcquire(t, &p, t.Context(), l, Options{TTL: 30 * time.Second})
		time.Sleep(time.Hour + time.Second)
		if err := h.Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := l.TryLock(t.Context(), "k", time.Second); !errors.Is(err, ErrLocked) {
			t.Errorf("another's try: %v, want ErrLocked", err)
		}
		if n := l.calls.Load(); n < 350 || n > 370 {
			t.Errorf("%d extensions in an hour, want one every 10 seconds", n)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
		calls := l.calls.Load()
		time.Sleep(time.Minute)
		if l.calls.Load() != calls {
			t.Error("renewed after its release")
		}
	})
}

func TestWatchdogRidesOutAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p policy
		l := &outage{Locker: Local()}
		h := mustAcquire(t, &p, t.Context(), l, Options{TTL: 30 * time.Second})
		time.Sleep(9 * time.Second)
		l.down.Store(true)
		time.Sleep(18 * time.Second)
		l.down.Store(false)
		time.Sleep(time.Minute)
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestHolderHearsOfItsLossBeforeTheLeaseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p policy
		l := &outage{Locker: Local()}
		h := mustAcquire(t, &p, t.Context(), l, Options{TTL: 10 * time.Second})
		ctx, start := h.Context(), time.Now()
		l.down.Store(true)
		<-ctx.Done()
		if took := time.Since(start); took >= 10*time.Second || took < 9*time.Second {
			t.Errorf("lost after %s of a lease of 10s", took)
		}
		<-h.Done()
		for what, err := range map[string]error{"Err": h.Err(), "cause": context.Cause(ctx), "Release": h.Release(ctx), "again": h.Release(ctx)} {
			if !errors.Is(err, ErrLost) {
				t.Errorf("%s = %v, want ErrLost", what, err)
			}
		}
	})
}

func TestHolderHearsOfATakeover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p policy
		l := Local()
		h := mustAcquire(t, &p, t.Context(), l, Options{TTL: 30 * time.Second})
		_ = h.hold.lease.Release(t.Context()) // behind its back
		start := time.Now()
		<-h.Done()
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("heard of it after %s, want the next renewal", took)
		}
	})
}

func TestMaxHoldEndsARenewedLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p policy
		start := time.Now()
		h := mustAcquire(t, &p, t.Context(), Local(), Options{TTL: 30 * time.Second, MaxHold: 5 * time.Minute})
		<-h.Done()
		if took := time.Since(start); took != 5*time.Minute {
			t.Errorf("lost after %s, want 5m", took)
		}
		if err := h.Err(); !errors.Is(err, ErrLost) {
			t.Error(err)
		}
	})
}

func TestNoRenewalEndsWithTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p policy
		l := &outage{Locker: Local()}
		start := time.Now()
		h := mustAcquire(t, &p, t.Context(), l, Options{TTL: time.Minute, NoRenewal: true})
		<-h.Done()
		if took := time.Since(start); took >= time.Minute || l.calls.Load() != 0 {
			t.Errorf("lost after %s and %d extensions", took, l.calls.Load())
		}
	})
}

// One server that does not answer must not keep another's leases from being
// renewed, however many are waiting for it.
func TestBlockedServerDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p policy
		take := func(l Locker, key string) *Held {
			h, err := p.acquire(t.Context(), l, key, Options{TTL: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		blocked := &deaf{Locker: Local()}
		var stuck, well []*Held
		for i := range 10 {
			stuck = append(stuck, take(blocked, fmt.Sprint(i)))
			well = append(well, take(Local(), "k"))
		}
		time.Sleep(time.Minute)
		for i := range stuck {
			if err := stuck[i].Err(); !errors.Is(err, ErrLost) {
				t.Errorf("on the blocked server: %v, want ErrLost", err)
			}
			if err := well[i].Release(t.Context()); err != nil {
				t.Errorf("on another: %v", err)
			}
			_ = stuck[i].Release(t.Context())
		}
	})
}

// deaf grants leases whose extensions hang until their context ends.
type deaf struct{ Locker }

type deafLease struct{ Lease }

func (d *deaf) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	lease, err := d.Locker.TryLock(ctx, key, ttl)
	return deafLease{lease}, err
}

func (deafLease) Extend(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestReentryNeedsNoServer(t *testing.T) {
	t.Parallel()
	var p policy
	l := &outage{Locker: Local()}
	h := mustAcquire(t, &p, t.Context(), l, Options{})
	l.down.Store(true)
	inner := mustAcquire(t, &p, h.Context(), l, Options{Reentrant: true})
	if inner.Fence() != h.Fence() {
		t.Errorf("fence %d inside %d", inner.Fence(), h.Fence())
	}
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := inner.Err(); err != nil {
		t.Errorf("the first of two let go: %v", err)
	}
	if _, err := l.Locker.TryLock(t.Context(), "k", time.Second); !errors.Is(err, ErrLocked) {
		t.Errorf("another's try while one is inside: %v, want ErrLocked", err)
	}
	if err := inner.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := l.Locker.TryLock(t.Context(), "k", time.Second); err != nil {
		t.Errorf("another's try when both are out: %v", err)
	}
}

func TestReentryBySurpriseFailsAtOnce(t *testing.T) {
	t.Parallel()
	var p policy
	l := Local()
	h := mustAcquire(t, &p, t.Context(), l, Options{})
	if _, err := p.acquire(h.Context(), l, "k", Options{Wait: -1}); !errors.Is(err, ErrReentry) {
		t.Errorf("%v, want ErrReentry", err)
	}
	other := mustAcquire(t, &p, h.Context(), Local(), Options{Wait: -1}) // another locker's k is another lock
	if _, err := p.acquire(other.Context(), l, "k", Options{Wait: -1}); !errors.Is(err, ErrReentry) {
		t.Errorf("from two holds deep: %v, want ErrReentry", err)
	}
	_ = other.Release(t.Context())
	_ = h.Release(t.Context())
}

func TestStaleContextIsLost(t *testing.T) {
	t.Parallel()
	var p policy
	l := Local()
	h := mustAcquire(t, &p, t.Context(), l, Options{})
	stale := context.WithoutCancel(h.Context())
	_ = h.Release(t.Context())
	if _, err := p.acquire(stale, l, "k", Options{Reentrant: true}); !errors.Is(err, ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
	if cause := context.Cause(h.Context()); !errors.Is(cause, ErrReleased) {
		t.Errorf("cause after release = %v, want ErrReleased", cause)
	}
}

func TestDoReportsALossThatItsWorkDidNotSee(t *testing.T) {
	t.Parallel()
	var p policy
	l := Local()
	work := errors.New("work")
	err := p.do(t.Context(), l, "k", Options{}, func(_ context.Context, h *Held) error {
		_ = h.hold.lease.Release(t.Context())
		return work
	})
	if !errors.Is(err, ErrLost) || !errors.Is(err, work) {
		t.Errorf("%v, want ErrLost and the work's error", err)
	}
}

func TestDoLetsGoWhenItsWorkPanics(t *testing.T) {
	t.Parallel()
	var p policy
	l := Local()
	func() {
		defer func() { _ = recover() }()
		_ = p.do(t.Context(), l, "k", Options{}, func(context.Context, *Held) error { panic("work") })
	}()
	mustAcquire(t, &p, t.Context(), l, Options{})
}

func TestReleaseDoesNotNeedALivingContext(t *testing.T) {
	t.Parallel()
	var p policy
	l := &outage{Locker: Local()}
	ctx, cancel := context.WithCancel(t.Context())
	h := mustAcquire(t, &p, ctx, l, Options{})
	cancel()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := h.Release(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	mustAcquire(t, &p, t.Context(), l, Options{})
}
