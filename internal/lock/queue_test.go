package lock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/check"
)

// countingLocker is Local with a switch. It counts its requests.
type countingLocker struct {
	*local
	tries atomic.Int64
	down  atomic.Bool
}

func newCountingLocker() *countingLocker { return &countingLocker{local: Local().(*local)} }

func (cl *countingLocker) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	cl.tries.Add(1)
	if cl.down.Load() {
		return nil, errDown
	}
	return cl.local.TryLock(ctx, key, ttl)
}

func (q *queues) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.byKey)
}

// mustHold acquires k for another process.
func mustHold(t *testing.T, l Locker, ttl time.Duration) {
	t.Helper()
	_, err := l.TryLock(t.Context(), "k", ttl)
	check.NoError(t, err)
}

// mustDo works while it holds k.
func mustDo(t *testing.T, c *Client, wait time.Duration, work func()) {
	err := c.Do(t.Context(), "k", Options{Wait: wait}, func(context.Context, *Lock) error { work(); return nil })
	if err != nil {
		t.Error(err)
	}
}

func TestQueueServesInTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	t.Run("notified", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { inOrder(t, Local()) }) })
	t.Run("polling",
		func(t *testing.T) { synctest.Test(t, func(t *testing.T) { inOrder(t, &fake{Locker: Local()}) }) })
}

func inOrder(t *testing.T, l Locker) {
	var (
		c     = New(l)
		order []int
		group sync.WaitGroup
	)
	first := mustAcquire(t, c, t.Context(), Options{})
	for i := range 50 {
		group.Go(func() {
			mustDo(t, c, -1, func() {
				order = append(order, i)
				time.Sleep(time.Millisecond)
			})
		})
		synctest.Wait()
	}
	_ = first.Release(t.Context())
	group.Wait()
	if len(order) != 50 || !slices.IsSorted(order) {
		t.Errorf("served %v", order)
	}
	if c.queues.len() != 0 {
		t.Error("an empty queue is left")
	}
}

// A release may cost one request in each process that waits, and no more.
func TestHandOverCostsOneAttemptPerProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const processes, waiters = 3, 40
		var (
			l     = newCountingLocker()
			cs    [processes]*Client
			group sync.WaitGroup
		)
		for i := range cs {
			cs[i] = New(l)
		}
		first := mustAcquire(t, cs[0], t.Context(), Options{})
		for _, c := range cs {
			for range waiters {
				group.Go(func() { mustDo(t, c, -1, func() { time.Sleep(time.Millisecond) }) })
			}
		}
		synctest.Wait()
		l.tries.Store(0)
		_ = first.Release(t.Context())
		group.Wait()
		if n := l.tries.Load(); n > processes*processes*waiters {
			t.Errorf("%d requests for %d hand-overs between %d processes", n, processes*waiters, processes)
		}
	})
}

func TestAThousandWaitersNeitherPollNorLeak(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const waiters = 1000
		var (
			l             = newCountingLocker()
			mu            sync.Mutex
			waiting, most int
		)
		count := func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			switch e.Kind {
			case EventWaiting:
				waiting++
				most = max(most, waiting)
			case EventWaited:
				waiting--
			}
		}
		c := New(l, WithObserver(count))
		first := mustAcquire(t, c, t.Context(), Options{})
		check.AtOnce(waiters, func(int) {
			_, err := c.Acquire(t.Context(), "k", Options{Wait: time.Minute})
			if !errors.Is(err, ErrLocked) || !errors.Is(err, errWaitEnded) {
				t.Error(err)
			}
		})
		if n := l.tries.Load(); n > 130 {
			t.Errorf("%d requests in a minute of waiting", n)
		}
		if most != waiters || waiting != 0 {
			t.Errorf("%d waiters at most and %d at the end, want %d and 0", most, waiting, waiters)
		}
		if c.queues.len() != 0 || len(l.waiters) != 0 {
			t.Error("a queue or a listener is left")
		}
		_ = first.Release(t.Context())
	}) // which also fails if a goroutine is left
}

// silentLocker is Local whose notifications are lost. A refusal tells how long the holder's
// lease lasts.
type silentLocker struct{ *local }

func (silentLocker) Notify(string, chan<- struct{}) (func(), error) { return func() {}, nil }

func TestWaitEndsWithTheContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := Local()
		c := New(l)
		first := mustAcquire(t, c, t.Context(), Options{})
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel(why)
		}()
		_, err := c.Acquire(ctx, "k", Options{Wait: time.Hour})
		if !errors.Is(err, ErrLocked) || !errors.Is(err, why) {
			t.Errorf("%v, want ErrLocked and the cause", err)
		}
		_ = first.Release(t.Context())
	})
}

// The holder dies and the service is down until its lease has ended.
func TestWaitOutlastsAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newCountingLocker()
		c := New(l)
		var group sync.WaitGroup
		mustHold(t, l, 3*time.Second)
		for i := range 10 {
			wait := []time.Duration{25 * time.Second, -1}[i%2]
			group.Go(func() { mustDo(t, c, wait, func() {}) })
		}
		synctest.Wait()
		l.down.Store(true)
		start := time.Now()
		time.Sleep(6 * time.Second)
		l.down.Store(false)
		group.Wait()
		if took := time.Since(start); took > 6500*time.Millisecond {
			t.Errorf("acquired %s after the begin of an outage of 6s", took)
		}
	})
}

// The error of a wait that an outage outlasts is no verdict, whether the waiter
// has made requests of its own or waited behind another.
func TestWaitThatEndsInAnOutageReportsIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newCountingLocker()
		c := New(l)
		first := mustAcquire(t, c, t.Context(), Options{})
		l.down.Store(true)
		check.AtOnce(10, func(int) {
			_, err := c.Acquire(t.Context(), "k", Options{Wait: 5 * time.Second})
			if !errors.Is(err, errDown) || !errors.Is(err, errWaitEnded) || errors.Is(err, ErrLocked) {
				t.Errorf("%v, want the outage, the end of the wait and not ErrLocked", err)
			}
		})
		if _, err := c.Acquire(t.Context(), "k", Options{}); !errors.Is(err, errDown) {
			t.Errorf("without a wait: %v, want the outage", err)
		}
		l.down.Store(false)
		_ = first.Release(t.Context())
	})
}

// blockingLocker is a BlockingLocker over Local.
type blockingLocker struct {
	*local
	waited atomic.Int64
}

func (b *blockingLocker) Lock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	b.waited.Add(1)
	for {
		lease, err := b.TryLock(context.WithoutCancel(ctx), key, ttl)
		if !errors.Is(err, ErrLocked) {
			return lease, err
		}
		Queued(ctx)
		select {
		case <-ctx.Done():
			return nil, errors.Join(ErrLocked, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestBlockingLockerQueuesTheWaiter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &blockingLocker{local: Local().(*local)}
		c := New(l)
		first := mustAcquire(t, c, t.Context(), Options{TTL: time.Minute})
		if _, err := c.Acquire(t.Context(), "k", Options{Wait: time.Second}); !errors.Is(err, ErrLocked) ||
			!errors.Is(err, errWaitEnded) {
			t.Errorf("%v, want ErrLocked and the cause", err)
		}
		go func() {
			time.Sleep(30 * time.Second)
			_ = first.Release(t.Context())
		}()
		h := mustAcquire(t, c, t.Context(), Options{Wait: -1, TTL: time.Minute})
		if n := l.waited.Load(); n != 2 {
			t.Errorf("%d waits in the service, want 2", n)
		}
		if left := time.Until(h.Deadline()); left < 55*time.Second {
			t.Errorf("a lease of a minute, gained after a wait, is safe for %s", left)
		}
		_ = h.Release(t.Context())
	})
}

// muteLocker is a BlockingLocker whose service does not reply.
type muteLocker struct{ Locker }

func (muteLocker) Lock(ctx context.Context, _ string, _ time.Duration) (Lease, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestWaitersBehindOneInTheServiceKnowWhatItKnows(t *testing.T) {
	t.Parallel()
	refusing := &blockingLocker{local: Local().(*local)}
	for l, locked := range map[Locker]bool{refusing: true, muteLocker{Local()}: false} {
		synctest.Test(t, func(t *testing.T) {
			mustHold(t, l, time.Hour)
			c := New(l)
			var both sync.WaitGroup
			for _, wait := range []time.Duration{time.Minute, time.Second} {
				both.Go(func() {
					_, err := c.Acquire(t.Context(), "k", Options{Wait: wait})
					if !errors.Is(err, errWaitEnded) || errors.Is(err, ErrLocked) != locked {
						t.Errorf("%T, a wait of %s: %v, want its end, and ErrLocked: %v", l, wait, err, locked)
					}
				})
				synctest.Wait()
			}
			both.Wait()
		})
	}
}

// The service grants the lock 5 ms before the wait ends. Its reply to the extension takes
// 10 ms, or it refuses to extend: then the lease would refuse the key to the next request.
func TestLeaseGrantedAtTheEndOfTheWaitIsKeptOrReleased(t *testing.T) {
	t.Parallel()
	slow := func(ctx context.Context) error {
		select {
		case <-time.After(10 * time.Millisecond):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, extended := range []func(context.Context) error{slow, func(context.Context) error { return errDown }} {
		synctest.Test(t, func(t *testing.T) {
			l := &lateLocker{fake{Locker: Local(), extended: extended}}
			_ = mustAcquire(t, New(l), t.Context(), Options{Wait: time.Minute}).Release(t.Context())
		})
	}
}

type lateLocker struct{ fake }

func (l *lateLocker) Lock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	end, _ := ctx.Deadline()
	time.Sleep(time.Until(end) - 5*time.Millisecond)
	return l.TryLock(ctx, key, ttl)
}

func TestHangingRequestHardlyOutlastsTheWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		_, err := New(&fake{tryLock: hang}).Acquire(t.Context(), "k", Options{Wait: 500 * time.Millisecond})
		if took := time.Since(start); err == nil || errors.Is(err, ErrLocked) || took > 750*time.Millisecond {
			t.Errorf("%v after %s, want an unknown outcome within 750ms", err, took)
		}
	})
}

func TestWaitEndsWhenTheDriverRefusesTheTTL(t *testing.T) {
	bubble(t, func(t *testing.T) {
		refuse := func(context.Context) error { return fmt.Errorf("strict: %w", ErrInvalid) }
		start := time.Now()
		_, err := New(&fake{tryLock: refuse}).Acquire(t.Context(), "k", Options{Wait: time.Minute})
		if took := time.Since(start); !errors.Is(err, ErrInvalid) || errors.Is(err, errWaitEnded) || took > 0 {
			t.Errorf("%v after %s, want ErrInvalid at once", err, took)
		}
	})
}

// Of two waiters the one that was told gives up. The one behind it has made no request.
func TestWaiterWakesWhenTheLeaseOfADeadHolderEnds(t *testing.T) {
	t.Parallel()
	for ttl, waiters := range map[time.Duration]int{300 * time.Millisecond: 1, 5 * time.Second: 1,
		12345 * time.Millisecond: 1, 900 * time.Millisecond: 2} {
		synctest.Test(t, func(t *testing.T) {
			l := silentLocker{Local().(*local)}
			mustHold(t, l, ttl)
			c, start := New(l), time.Now()
			if waiters == 2 {
				go func() { _, _ = c.Acquire(t.Context(), "k", Options{Wait: 400 * time.Millisecond}) }()
				synctest.Wait()
			}
			h := mustAcquire(t, c, t.Context(), Options{Wait: time.Minute})
			if late := time.Since(start) - ttl; late > 2*spread {
				t.Errorf("acquired %s after the end of a lease of %s", late, ttl)
			}
			_ = h.Release(t.Context())
		})
	}
}

func TestRefusalWithoutTheTimeLeftIsErrLocked(t *testing.T) {
	t.Parallel()
	for _, left := range []time.Duration{-1, 0} {
		if told, ok := errors.AsType[*LockedError](Locked(left)); ok {
			t.Errorf("Locked(%d) = %#v", left, told)
		}
	}
}

// Two wait. The first gets the lock, and neither extends nor releases it.
func TestWaiterKnowsWhenALeaseOfItsOwnProcessEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const ttl = 200 * time.Millisecond
		l := silentLocker{Local().(*local)}
		mustHold(t, l, ttl)
		c, acquired := New(discreetLocker{l}), make(chan time.Time)
		go func() {
			_ = mustAcquire(t, c, t.Context(), Options{TTL: ttl, NoRenewal: true, Wait: time.Minute})
			acquired <- time.Now()
		}()
		synctest.Wait()
		go func() {
			h := mustAcquire(t, c, t.Context(), Options{Wait: time.Minute})
			acquired <- time.Now()
			_ = h.Release(t.Context())
		}()
		first, second := <-acquired, <-acquired
		if took := second.Sub(first); took > ttl+2*spread {
			t.Errorf("acquired %s after a lease of %s began", took, ttl)
		}
	})
}

// discreetLocker is a silentLocker whose refusals do not tell the time left.
type discreetLocker struct{ silentLocker }

func (p discreetLocker) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	lease, err := p.silentLocker.TryLock(ctx, key, ttl)
	if err != nil {
		return nil, ErrLocked
	}
	return lease, nil
}

// The time of a wait overflows when anything is added to it.
func TestLongestWaitHasNoEnd(t *testing.T) {
	t.Parallel()
	for _, l := range []Locker{Local(), &fake{Locker: Local()}} {
		for _, longest := range []time.Duration{math.MaxInt64, math.MaxInt64 - 250*time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				c, o := New(l), Options{Wait: longest, TTL: maxDuration}
				first := mustAcquire(t, c, t.Context(), o)
				time.AfterFunc(time.Minute, func() { _ = first.Release(context.Background()) })
				second := mustAcquire(t, c, t.Context(), o)
				check.NoError(t, second.Err())
				_ = second.Release(t.Context())
			})
		}
	}
}

// A silentKeys is a Notifier of which no key notifies.
type silentKeys struct{ Locker }

func (silentKeys) Notify(string, chan<- struct{}) (func(), error) { return nil, errors.New("silent") }

func TestReleaseWakesTheNextWaiterOfAPollingDriver(t *testing.T) {
	t.Parallel()
	for _, l := range []Locker{&fake{Locker: Local()}, silentKeys{&fake{Locker: Local()}}} {
		releaseWakesTheNextWaiter(t, l)
	}
}

func releaseWakesTheNextWaiter(t *testing.T, l Locker) {
	synctest.Test(t, func(t *testing.T) {
		c := New(l)
		first := mustAcquire(t, c, t.Context(), Options{TTL: time.Hour})
		acquired := make(chan time.Time)
		go func() {
			h := mustAcquire(t, c, t.Context(), Options{Wait: time.Minute})
			acquired <- time.Now()
			_ = h.Release(t.Context())
		}()
		time.Sleep(10*time.Second + time.Millisecond)
		released := time.Now()
		_ = first.Release(t.Context())
		if late := (<-acquired).Sub(released); late > 0 {
			t.Errorf("the next waiter has the lock after %s, want at once", late)
		}
	})
}
