package mysqllock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

// A repeated acquire returns the same lease and fence, with the new ttl.
func TestAcquireMayBeRepeatedAfterALostReply(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	held := locktest.MustTryLock(t, NewRows(db), labtest.Name(t), 20*time.Second)
	fence := held.Fence()
	if err := held.(*rowLease).acquire(t.Context(), time.Minute); err != nil || held.Fence() != fence {
		t.Errorf("repeated acquire: %v, fence %d after %d, want the same", err, held.Fence(), fence)
	}
	var left int // seconds until the lease expires
	if err := db.GetContext(t.Context(), &left,
		"SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(6), expires_at) FROM locks"); err != nil || left <= 20 {
		t.Errorf("the lease expires %d s after the repeated acquire, %v; want its ttl of a minute", left, err)
	}
}

// A TryLock leaves no lease behind, at whichever moment its context ends.
func TestCancelledTryLockLeavesNoLease(t *testing.T) {
	t.Parallel()
	l := NewRows(labtest.DB(t))
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			key := labtest.Name(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*20*time.Microsecond)
			defer cancel()
			held, err := l.TryLock(ctx, key, time.Minute)
			switch {
			case err == nil:
				if err := held.Release(context.Background()); err != nil {
					t.Error(err)
				}
			case errors.Is(err, lock.ErrLocked):
				t.Error(err)
			}
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if _, err = l.TryLock(t.Context(), key, time.Minute); err == nil {
					return
				}
				if time.Now().After(deadline) {
					t.Errorf("TryLock after a TryLock with a timeout of %s: %v",
						time.Duration(i)*20*time.Microsecond, err)
					return
				}
			}
		})
	}
	group.Wait()
}
