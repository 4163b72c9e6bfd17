package redisson_test

import (
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

func TestReadersShareAndExcludeWriters(t *testing.T) {
	t.Parallel()
	c, name := newClient(t, labtest.Redis(t)), "rw"
	read1 := locktest.MustTryLock(t, c.ReadLock(), name, longTTL)
	locktest.WantLocked(t, c.WriteLock(), name)
	read2 := locktest.MustTryLock(t, c.ReadLock(), name, longTTL)
	check.NoError(t, read1.Release(t.Context()))
	locktest.WantLocked(t, c.WriteLock(), name)
	check.NoError(t, read2.Release(t.Context()))
	write := locktest.MustTryLock(t, c.WriteLock(), name, longTTL)
	locktest.WantLocked(t, c.WriteLock(), name)
	locktest.WantLocked(t, c.ReadLock(), name)
	check.NoError(t, write.Release(t.Context()))
}

func TestExpiredReadHoldDoesNotBlockAWriter(t *testing.T) {
	t.Parallel()
	c, name := newClient(t, labtest.Redis(t)), "rw"
	expired := locktest.MustTryLock(t, c.ReadLock(), name, 50*time.Millisecond)
	live := locktest.MustTryLock(t, c.ReadLock(), name, longTTL)
	time.Sleep(100 * time.Millisecond)
	check.ErrorIs(t, expired.Extend(t.Context(), longTTL), lock.ErrLost)
	check.NoError(t, live.Release(t.Context()))
	// The release must have removed the expired hold: Java's writers do not look
	// at the ends of read holds.
	if info, err := c.ReadLock().Inspect(t.Context(), name); err != nil || len(info.Holders) != 0 {
		t.Errorf("%+v, %v, want no holders", info, err)
	}
	check.NoError(t, locktest.MustTryLock(t, c.WriteLock(), name, longTTL).Release(t.Context()))

	live = locktest.MustTryLock(t, c.ReadLock(), name, longTTL)
	locktest.MustTryLock(t, c.ReadLock(), name, 50*time.Millisecond)
	time.Sleep(100 * time.Millisecond)
	locktest.WantLocked(t, c.WriteLock(), name) // the short hold has not shortened the other
	check.NoError(t, live.Release(t.Context()))

	shortened := locktest.MustTryLock(t, c.ReadLock(), name, longTTL)
	check.NoError(t, shortened.Extend(t.Context(), 50*time.Millisecond))
	time.Sleep(100 * time.Millisecond)
	check.NoError(t, locktest.MustTryLock(t, c.WriteLock(), name, longTTL).Release(t.Context()))
	check.ErrorIs(t, shortened.Release(t.Context()), lock.ErrLost)
}

func TestDowngradeAdmitsNoOtherWriter(t *testing.T) {
	t.Parallel()
	c, name := newClient(t, labtest.Redis(t)), "rw"
	write := locktest.MustTryLock(t, c.WriteLock(), name, longTTL)
	read, err := c.WriteLock().Downgrade(t.Context(), write, longTTL)
	check.NoError(t, err)
	check.ErrorIs(t, write.Release(t.Context()), lock.ErrLost)
	locktest.WantLocked(t, c.WriteLock(), name)
	check.NoError(t, locktest.MustTryLock(t, c.ReadLock(), name, longTTL).Release(t.Context()))
	check.NoError(t, read.Release(t.Context()))
	check.NoError(t, locktest.MustTryLock(t, c.WriteLock(), name, longTTL).Release(t.Context()))
	if _, err := c.WriteLock().Downgrade(t.Context(), write, longTTL); !errors.Is(err, lock.ErrLost) {
		t.Errorf("second downgrade: %v, want ErrLost", err)
	}
}
