package redisson_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

func TestReadersShareAndExcludeWriters(t *testing.T) {
	t.Parallel()
	c, name := newClient(t, labtest.Redis(t)), "rw"
	read1, read2 := mustTryLock(t, c.ReadLock(), name, longTTL), mustTryLock(t, c.ReadLock(), name, longTTL)
	wantLocked(t, c.WriteLock(), name)
	noError(t, read1.Release(t.Context()))
	wantLocked(t, c.WriteLock(), name)
	noError(t, read2.Release(t.Context()))
	write := mustTryLock(t, c.WriteLock(), name, longTTL)
	wantLocked(t, c.WriteLock(), name)
	wantLocked(t, c.ReadLock(), name)
	noError(t, write.Release(t.Context()))
}

// The holds of the readers overlap for as long as new readers are admitted.
func TestReadersDoNotStarveWriter(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	for i := range 6 {
		l := lock.New(newClient(t, server).ReadLock())
		readers.Go(func() {
			for ctx.Err() == nil {
				lease, err := l.Acquire(ctx, "rw", lock.Options{Wait: longTTL})
				if err != nil {
					continue
				}
				time.Sleep(time.Duration(60+35*i) * time.Millisecond)
				noError(t, lease.Release(t.Context()))
			}
		})
	}
	time.Sleep(600 * time.Millisecond)
	lease, err := lock.New(newClient(t, server).WriteLock()).Acquire(t.Context(), "rw",
		lock.Options{Wait: 3 * time.Second})
	noError(t, err)
	noError(t, lease.Release(t.Context()))
}

func TestWriterThatDoesNotWaitRefusesNoReader(t *testing.T) {
	t.Parallel()
	c, name := newClient(t, labtest.Redis(t)), "rw"
	mustTryLock(t, c.ReadLock(), name, longTTL)
	wantLocked(t, c.WriteLock(), name)
	mustTryLock(t, c.ReadLock(), name, longTTL)
}

func TestExpiredReadHoldDoesNotBlockAWriter(t *testing.T) {
	t.Parallel()
	c, name := newClient(t, labtest.Redis(t)), "rw"
	expired := mustTryLock(t, c.ReadLock(), name, 50*time.Millisecond)
	live := mustTryLock(t, c.ReadLock(), name, longTTL)
	time.Sleep(100 * time.Millisecond)
	if err := expired.Extend(t.Context(), longTTL); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Extend of an expired read lease beside another: %v, want ErrLost", err)
	}
	noError(t, live.Release(t.Context()))
	// The release must have removed the expired hold: Java's writers do not look
	// at the ends of read holds.
	if info, err := c.ReadLock().Inspect(t.Context(), name); err != nil || len(info.Holders) != 0 {
		t.Errorf("%+v, %v, want no holders", info, err)
	}
	noError(t, mustTryLock(t, c.WriteLock(), name, longTTL).Release(t.Context()))

	live = mustTryLock(t, c.ReadLock(), name, longTTL)
	mustTryLock(t, c.ReadLock(), name, 50*time.Millisecond)
	time.Sleep(100 * time.Millisecond)
	wantLocked(t, c.WriteLock(), name) // the short hold has not shortened the other
	noError(t, live.Release(t.Context()))

	shortened := mustTryLock(t, c.ReadLock(), name, longTTL)
	noError(t, shortened.Extend(t.Context(), 50*time.Millisecond))
	time.Sleep(100 * time.Millisecond)
	noError(t, mustTryLock(t, c.WriteLock(), name, longTTL).Release(t.Context()))
	if err := shortened.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release of an expired read lease: %v, want ErrLost", err)
	}
}

func TestReadLeasesAreExtendedInOneBatch(t *testing.T) {
	t.Parallel()
	c := newClient(t, labtest.Redis(t))
	l := c.ReadLock()
	a, b, released := mustTryLock(t, l, "a", 300*time.Millisecond), mustTryLock(t, l, "b", 300*time.Millisecond),
		mustTryLock(t, l, "a", longTTL)
	noError(t, released.Release(t.Context()))
	errs := l.ExtendAll(t.Context(), longTTL, []lock.Lease{a, released, b})
	if errs[0] != nil || !errors.Is(errs[1], lock.ErrLost) || errs[2] != nil {
		t.Errorf("%v, want ErrLost for the second only", errs)
	}
	time.Sleep(400 * time.Millisecond)
	wantLocked(t, c.WriteLock(), "a")
	wantLocked(t, c.WriteLock(), "b")
}

func TestDowngradeAdmitsNoOtherWriter(t *testing.T) {
	t.Parallel()
	c, name := newClient(t, labtest.Redis(t)), "rw"
	write := mustTryLock(t, c.WriteLock(), name, longTTL)
	read, err := c.WriteLock().Downgrade(t.Context(), write, longTTL)
	noError(t, err)
	if err := write.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release of the downgraded lease: %v, want ErrLost", err)
	}
	wantLocked(t, c.WriteLock(), name)
	noError(t, mustTryLock(t, c.ReadLock(), name, longTTL).Release(t.Context()))
	noError(t, read.Release(t.Context()))
	noError(t, mustTryLock(t, c.WriteLock(), name, longTTL).Release(t.Context()))
	if _, err := c.WriteLock().Downgrade(t.Context(), write, longTTL); !errors.Is(err, lock.ErrLost) {
		t.Errorf("second downgrade: %v, want ErrLost", err)
	}
}
