package holder

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
)

func TestEachOfManyWaitersHoldsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		acquired, one := 0, FromClient(lock.New(lock.Local()))
		counted := func(ctx context.Context, key string, lease, wait time.Duration) (Held, error) {
			h, err := one(ctx, key, lease, wait)
			if err == nil {
				acquired++
			}
			return h, err
		}
		held, err := Waiters(counted, 100)(t.Context(), "k", time.Second, time.Minute)
		check.NoError(t, err)
		check.NoError(t, held.Release(t.Context()))
		if acquired != 100 {
			t.Errorf("%d waiters held, want 100", acquired)
		}
	})
}

func TestWaitersFindTwoAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		held, err := Waiters(FromClient(lock.New(lock.None())), 2)(t.Context(), "k", time.Second, time.Minute)
		check.NoError(t, err)
		synctest.Wait()
		if err := held.Release(t.Context()); err == nil || !strings.Contains(err.Error(), errTwoAtOnce.Error()) {
			t.Errorf("%v, want %v", err, errTwoAtOnce)
		}
	})
}
