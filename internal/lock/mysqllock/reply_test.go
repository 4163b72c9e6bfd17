package mysqllock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

// Whoever asks again, because the reply was lost, has the lease that it had.
func TestLostReplyYieldsTheLease(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	held, err := NewRows(db).TryLock(t.Context(), labtest.Name(t), 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	fence := held.Fence()
	if err := held.(*row).take(t.Context(), time.Minute); err != nil || held.Fence() != fence {
		t.Errorf("repeated: %v, fence %d after %d", err, held.Fence(), fence)
	}
	time.Sleep(110 * time.Millisecond)
	if err := held.Release(t.Context()); err != nil {
		t.Errorf("Release within the repeated request's ttl: %v", err)
	}
}

// A caller who gives up leaves no lease behind, whenever that is.
func TestGivingUpLeavesNothingBehind(t *testing.T) {
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
			for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if _, err = l.TryLock(t.Context(), key, time.Minute); err == nil {
					return
				}
				if time.Now().After(end) {
					t.Errorf("TryLock after a try with %s: %v", time.Duration(i)*20*time.Microsecond, err)
					return
				}
			}
		})
	}
	group.Wait()
}
