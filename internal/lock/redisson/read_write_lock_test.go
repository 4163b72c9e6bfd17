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
	c, name := client(t, labtest.Redis(t)), "rw"
	one, two := take(t, c.ReadLock(), name, long), take(t, c.ReadLock(), name, long)
	refused(t, c.WriteLock(), name)
	ok(t, one.Release(t.Context()))
	refused(t, c.WriteLock(), name)
	ok(t, two.Release(t.Context()))
	writing := take(t, c.WriteLock(), name, long)
	refused(t, c.WriteLock(), name)
	refused(t, c.ReadLock(), name)
	ok(t, writing.Release(t.Context()))
}

// TestReadersDoNotStarveWriter: they overlap for as long as they are let in.
func TestReadersDoNotStarveWriter(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	reading, stop := context.WithCancel(t.Context())
	defer stop()
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	for i := range 6 {
		l := lock.New(client(t, server).ReadLock())
		readers.Go(func() {
			for reading.Err() == nil {
				held, err := l.Acquire(reading, "rw", lock.Options{Wait: long})
				if err != nil {
					continue
				}
				time.Sleep(time.Duration(60+35*i) * time.Millisecond)
				ok(t, held.Release(t.Context()))
			}
		})
	}
	time.Sleep(600 * time.Millisecond)
	held, err := lock.New(client(t, server).WriteLock()).Acquire(t.Context(), "rw", lock.Options{Wait: 3 * time.Second})
	ok(t, err)
	ok(t, held.Release(t.Context()))
}

// TestTriedWriteHoldsNobodyBack: only one who waits does.
func TestTriedWriteHoldsNobodyBack(t *testing.T) {
	t.Parallel()
	c, name := client(t, labtest.Redis(t)), "rw"
	take(t, c.ReadLock(), name, long)
	refused(t, c.WriteLock(), name)
	take(t, c.ReadLock(), name, long)
}

// TestDeadReaderIsDropped with the last living one, or when it was the last.
func TestDeadReaderIsDropped(t *testing.T) {
	t.Parallel()
	c, name := client(t, labtest.Redis(t)), "rw"
	dead := take(t, c.ReadLock(), name, 50*time.Millisecond)
	living := take(t, c.ReadLock(), name, long)
	time.Sleep(100 * time.Millisecond)
	if err := dead.Extend(t.Context(), long); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Extend of a read lease that ended beside another: %v, want ErrLost", err)
	}
	ok(t, living.Release(t.Context()))
	if info, err := c.ReadLock().Inspect(t.Context(), name); err != nil || len(info.Holders) != 0 {
		t.Errorf("%+v, %v, want nobody: Java's writers look at no reader's end", info, err)
	}
	ok(t, take(t, c.WriteLock(), name, long).Release(t.Context()))

	lasting := take(t, c.ReadLock(), name, long)
	take(t, c.ReadLock(), name, 50*time.Millisecond)
	time.Sleep(100 * time.Millisecond)
	refused(t, c.WriteLock(), name) // the short one has not shortened the other
	ok(t, lasting.Release(t.Context()))

	shortened := take(t, c.ReadLock(), name, long)
	ok(t, shortened.Extend(t.Context(), 50*time.Millisecond))
	time.Sleep(100 * time.Millisecond)
	ok(t, take(t, c.WriteLock(), name, long).Release(t.Context()))
	if err := shortened.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release of a read lease that ended: %v, want ErrLost", err)
	}
}

func TestReadersExtendTogether(t *testing.T) {
	t.Parallel()
	c := client(t, labtest.Redis(t))
	l := c.ReadLock()
	one, two, gone := take(t, l, "a", 300*time.Millisecond), take(t, l, "b", 300*time.Millisecond), take(t, l, "a", long)
	ok(t, gone.Release(t.Context()))
	errs := l.ExtendAll(t.Context(), long, []lock.Lease{one, gone, two})
	if errs[0] != nil || !errors.Is(errs[1], lock.ErrLost) || errs[2] != nil {
		t.Errorf("%v, want ErrLost for the second only", errs)
	}
	time.Sleep(400 * time.Millisecond)
	refused(t, c.WriteLock(), "a")
	refused(t, c.WriteLock(), "b")
}

func TestDowngradeLetsNobodyBetween(t *testing.T) {
	t.Parallel()
	c, name := client(t, labtest.Redis(t)), "rw"
	writing := take(t, c.WriteLock(), name, long)
	reading, err := c.WriteLock().Downgrade(t.Context(), writing, long)
	ok(t, err)
	if err := writing.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release of the downgraded lease: %v, want ErrLost", err)
	}
	refused(t, c.WriteLock(), name)
	ok(t, take(t, c.ReadLock(), name, long).Release(t.Context()))
	ok(t, reading.Release(t.Context()))
	ok(t, take(t, c.WriteLock(), name, long).Release(t.Context()))
	if _, err := c.WriteLock().Downgrade(t.Context(), writing, long); !errors.Is(err, lock.ErrLost) {
		t.Errorf("second downgrade: %v, want ErrLost", err)
	}
}
