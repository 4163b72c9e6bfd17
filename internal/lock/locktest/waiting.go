package locktest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/lock"
)

// listen makes a client that listens for k, and returns its wake-ups without
// those that come with the beginning.
func (s suite) listen(t *testing.T, k string) (wake chan struct{}, stop func()) {
	t.Helper()
	l, ok := s.open(t).(lock.Notifier)
	if !ok {
		t.Skip("does not notify") // kinds has compared this with the promise
	}
	wake = make(chan struct{}, 1)
	stop, err := l.Notify(k, wake)
	fine(t, "notify", err)
	t.Cleanup(stop)
	return wake, stop
}

func woken(t *testing.T, wake <-chan struct{}, when string) {
	t.Helper()
	select {
	case <-wake:
	case <-time.After(patience):
		t.Fatalf("no wake-up %s", when)
	}
}

// settle swallows wake-ups until there is none for a while.
func settle(wake <-chan struct{}) {
	for {
		select {
		case <-wake:
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}

func (s suite) notifyBegins(t *testing.T) {
	t.Parallel()
	wake, _ := s.listen(t, key())
	woken(t, wake, "when it began to listen")
}

func (s suite) notifyRelease(t *testing.T) {
	t.Parallel()
	k := key()
	wake, _ := s.listen(t, k)
	l := s.open(t)
	for range 3 {
		lease := take(t, l, k, long)
		settle(wake)
		fine(t, "release", lease.Release(t.Context()))
		woken(t, wake, "after a release")
	}
}

// notifyBlocks has one listener that never receives, and one that must not
// suffer from it.
func (s suite) notifyBlocks(t *testing.T) {
	t.Parallel()
	l, ok := s.open(t).(lock.Notifier)
	if !ok {
		t.Skip("does not notify")
	}
	k := key()
	deaf, wake := make(chan struct{}), make(chan struct{}, 1)
	for _, ch := range []chan struct{}{deaf, wake} {
		stop, err := l.Notify(k, ch)
		fine(t, "notify", err)
		t.Cleanup(stop)
	}
	settle(wake)
	other := s.open(t)
	for range 3 {
		fine(t, "release", take(t, other, k, long).Release(t.Context()))
	}
	woken(t, wake, "beside a listener that does not receive")
}

// notifyStops also stops twice, and stops one of two listeners only.
func (s suite) notifyStops(t *testing.T) {
	t.Parallel()
	l, ok := s.open(t).(lock.Notifier)
	if !ok {
		t.Skip("does not notify")
	}
	k := key()
	left, stays := make(chan struct{}, 1), make(chan struct{}, 1)
	stop, err := l.Notify(k, left)
	fine(t, "notify", err)
	stopOther, err := l.Notify(k, stays)
	fine(t, "notify", err)
	t.Cleanup(stopOther)
	stop()
	stop()
	settle(left)
	settle(stays)
	fine(t, "release", take(t, s.open(t), k, long).Release(t.Context()))
	woken(t, stays, "for the listener that stays")
	select {
	case <-left:
		t.Error("a wake-up after stop")
	case <-time.After(50 * time.Millisecond):
	}
}

func (s suite) lockWaits(t *testing.T) {
	t.Parallel()
	l, ok := s.open(t).(lock.BlockingLocker)
	if !ok {
		t.Skip("does not wait by itself")
	}
	k := key()
	first := take(t, s.open(t), k, long)
	got := make(chan error, 1)
	go func() {
		lease, err := l.Lock(t.Context(), k, long)
		if err == nil {
			err = lease.Release(context.Background())
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("Lock of a held key did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	fine(t, "release", first.Release(t.Context()))
	select {
	case err := <-got:
		fine(t, "Lock", err)
	case <-time.After(patience):
		t.Fatal("Lock waits on, after the release")
	}
}

func (s suite) lockGivesUp(t *testing.T) {
	t.Parallel()
	l, ok := s.open(t).(lock.BlockingLocker)
	if !ok {
		t.Skip("does not wait by itself")
	}
	k := key()
	first := take(t, s.open(t), k, long)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := l.Lock(ctx, k, long)
	if !errors.Is(err, lock.ErrLocked) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock that gave up: %v, want ErrLocked and the cause of its context", err)
	}
	fine(t, "release", first.Release(t.Context()))
	take(t, s.open(t), k, long) // nobody who gave up stands in the queue
}

// acquireExcludes counts by read-modify-write under Client.Do, in a crowd of
// which each client has a part.
func (s suite) acquireExcludes(t *testing.T) {
	t.Parallel()
	if !s.p.Exclusive {
		t.Skip("promises no exclusion")
	}
	const clients, each = 3, 20
	var (
		k     = key()
		count atomic.Int64
		group sync.WaitGroup
	)
	for range clients {
		c := lock.New(s.open(t))
		for range each {
			group.Go(func() {
				err := c.Do(t.Context(), k, lock.Options{TTL: long, Wait: long}, func(context.Context, *lock.Lock) error {
					seen := count.Load()
					time.Sleep(200 * time.Microsecond)
					count.Store(seen + 1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	if n := count.Load(); n != clients*each {
		t.Errorf("counted to %d, want %d", n, clients*each)
	}
}
