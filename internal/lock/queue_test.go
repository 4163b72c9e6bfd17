package lock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counted is Local with its calls counted, behind a switch.
type counted struct {
	*local
	tries atomic.Int64
	down  atomic.Bool
}

func newCounted() *counted { return &counted{local: Local().(*local)} }

func (c *counted) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	c.tries.Add(1)
	if c.down.Load() {
		return nil, errDown
	}
	return c.local.TryLock(ctx, key, ttl)
}

// mute hides the wake-ups of its locker.
type mute struct{ Locker }

func (q *queues) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.byName)
}

func TestQueueServesInTheOrderOfComing(t *testing.T) {
	t.Parallel()
	t.Run("notified", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { inOrder(t, Local()) }) })
	t.Run("polling", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { inOrder(t, mute{Local()}) }) })
}

func inOrder(t *testing.T, l Locker) {
	var (
		p     policy
		order []int
		group sync.WaitGroup
	)
	first := mustAcquire(t, &p, t.Context(), l, Options{})
	for i := range 50 {
		group.Go(func() {
			err := p.do(t.Context(), l, "k", Options{Wait: -1}, func(context.Context, *Held) error {
				order = append(order, i)
				time.Sleep(time.Millisecond)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
	}
	_ = first.Release(t.Context())
	group.Wait()
	if len(order) != 50 || !slices.IsSorted(order) {
		t.Errorf("served %v", order)
	}
	if p.queues.len() != 0 {
		t.Error("a queue is left without anybody in it")
	}
}

// Three processes with a crowd each hand a lock on: every release may cost one
// attempt in each process, and no more.
func TestHandOverCostsOneAttemptPerProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const processes, crowd = 3, 40
		var (
			l     = newCounted()
			ps    [processes]policy
			group sync.WaitGroup
		)
		first := mustAcquire(t, &ps[0], t.Context(), l, Options{})
		for i := range ps {
			for range crowd {
				group.Go(func() {
					err := ps[i].do(t.Context(), l, "k", Options{Wait: -1}, func(context.Context, *Held) error {
						time.Sleep(time.Millisecond)
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
		synctest.Wait()
		l.tries.Store(0)
		_ = first.Release(t.Context())
		group.Wait()
		if n := l.tries.Load(); n > processes*processes*crowd {
			t.Errorf("%d attempts for %d hand-overs between %d processes", n, processes*crowd, processes)
		}
	})
}

func TestFiveThousandWaitersNeitherSpinNorLeak(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const crowd = 5000
		var (
			p             policy
			l             = newCounted()
			group         sync.WaitGroup
			waiting, most atomic.Int64
		)
		watch := func(e Event) {
			switch e.Kind {
			case EventWaiting:
				most.Store(max(most.Load(), waiting.Add(1)))
			case EventWaited:
				waiting.Add(-1)
			}
		}
		first := mustAcquire(t, &p, t.Context(), l, Options{})
		for range crowd {
			group.Go(func() {
				_, err := p.acquire(t.Context(), l, "k", Options{Wait: time.Minute, Observe: watch})
				if !errors.Is(err, ErrLocked) || !errors.Is(err, errWaited) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if n := l.tries.Load(); n > 130 {
			t.Errorf("%d attempts in a minute of waiting", n)
		}
		if most.Load() != crowd || waiting.Load() != 0 {
			t.Errorf("%d waiters at most and %d at the end, want %d and 0", most.Load(), waiting.Load(), crowd)
		}
		if p.queues.len() != 0 || len(l.waiters) != 0 {
			t.Error("a queue or a listener is left")
		}
		_ = first.Release(t.Context())
	}) // which also fails if a goroutine is left
}

// The holder dies, and no hint comes.
func TestWaiterFindsAnExpiredLeaseByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p policy
		l := &deafening{Local().(*local)}
		if _, err := l.TryLock(t.Context(), "k", 10*time.Second); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		h := mustAcquire(t, &p, t.Context(), l, Options{Wait: -1})
		if took := time.Since(start); took > 12*time.Second {
			t.Errorf("found it after %s", took)
		}
		_ = h.Release(t.Context())
	})
}

// deafening takes listeners and tells them nothing.
type deafening struct{ *local }

func (deafening) Notify(string, chan<- struct{}) (func(), error) { return func() {}, nil }

func TestWaitEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p policy
		l := Local()
		first := mustAcquire(t, &p, t.Context(), l, Options{})
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel(why)
		}()
		_, err := p.acquire(ctx, l, "k", Options{Wait: time.Hour})
		if !errors.Is(err, ErrLocked) || !errors.Is(err, why) {
			t.Errorf("%v, want ErrLocked and the cause", err)
		}
		_ = first.Release(t.Context())
	})
}

// An outage is told to the one who asked, at once, and the next one in the
// queue asks for itself.
func TestOutageIsNoReasonToWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			p     policy
			l     = newCounted()
			group sync.WaitGroup
		)
		first := mustAcquire(t, &p, t.Context(), l, Options{})
		start := time.Now()
		for range 10 {
			group.Go(func() {
				if _, err := p.acquire(t.Context(), l, "k", Options{Wait: -1}); !errors.Is(err, errDown) || errors.Is(err, ErrLocked) {
					t.Errorf("%v, want the outage and no verdict", err)
				}
			})
		}
		synctest.Wait()
		l.down.Store(true)
		group.Wait()
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("told after %s", took)
		}
		l.down.Store(false)
		_ = first.Release(t.Context())
	})
}

// native waits in its own service.
type native struct {
	*local
	waited atomic.Int64
}

func (n *native) Lock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	n.waited.Add(1)
	for {
		lease, err := n.TryLock(context.WithoutCancel(ctx), key, ttl)
		if !errors.Is(err, ErrLocked) {
			return lease, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ErrLocked, context.Cause(ctx))
		case <-time.After(time.Millisecond):
		}
	}
}

func TestWaiterWaitsInItsService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p policy
		l := &native{local: Local().(*local)}
		first := mustAcquire(t, &p, t.Context(), l, Options{TTL: time.Minute})
		if _, err := p.acquire(t.Context(), l, "k", Options{Wait: time.Second}); !errors.Is(err, ErrLocked) || !errors.Is(err, errWaited) {
			t.Errorf("%v, want ErrLocked and the cause", err)
		}
		go func() {
			time.Sleep(30 * time.Second)
			_ = first.Release(t.Context())
		}()
		h := mustAcquire(t, &p, t.Context(), l, Options{Wait: -1, TTL: time.Minute})
		if n := l.waited.Load(); n != 2 {
			t.Errorf("waited %d times in the service, want 2", n)
		}
		if left := time.Until(h.Deadline()); left < 55*time.Second {
			t.Errorf("a lease of a minute, gained after a wait, is certain for %s", left)
		}
		_ = h.Release(t.Context())
	})
}

// session is a lease that ends with something else.
type session struct {
	Lease
	lost chan struct{}
}

func (s session) Lost() <-chan struct{} { return s.lost }

type sessions struct{ Locker }

var _ Watched = session{}

func (s sessions) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	lease, err := s.Locker.TryLock(ctx, key, ttl)
	return session{lease, make(chan struct{})}, err
}

func TestHolderHearsThatItsSessionEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p policy
		h := mustAcquire(t, &p, t.Context(), sessions{Local()}, Options{})
		close(h.hold.lease.(session).lost)
		synctest.Wait()
		if err := h.Err(); !errors.Is(err, ErrLost) {
			t.Errorf("%v, want ErrLost", err)
		}
		_ = h.Release(t.Context())
	})
}

// silent is a locker whose hints get lost.
type silent struct{ Locker }

func (silent) Notify(string, chan<- struct{}) (func(), error) { return func() {}, nil }

// A wait shorter than the back-up timer still finds a lease that has run out.
func TestShortWaitOutlastsADeadHolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p policy
		l := silent{Local()}
		if _, err := l.TryLock(t.Context(), "k", 300*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		h, err := p.acquire(t.Context(), l, "k", Options{Wait: 400 * time.Millisecond})
		if err != nil {
			t.Fatalf("after 400 ms of a lease of 300: %v", err)
		}
		_ = h.Release(t.Context())
	})
}
