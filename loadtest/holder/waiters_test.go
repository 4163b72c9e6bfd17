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
		c := &counted{Lock: FromClient(lock.New(lock.Local()))}
		held, err := Waiters(c, 100).Acquire(t.Context(), "k", time.Second, time.Minute)
		check.NoError(t, err)
		check.NoError(t, held.Release(t.Context()))
		if c.acquired != 100 {
			t.Errorf("%d waiters held, want 100", c.acquired)
		}
	})
}

// counted is a lock whose grants are counted by their holder.
type counted struct {
	Lock
	acquired int
}

func (c *counted) Acquire(ctx context.Context, key string, lease, wait time.Duration) (Held, error) {
	h, err := c.Lock.Acquire(ctx, key, lease, wait)
	if err == nil {
		c.acquired++
	}
	return h, err
}

func TestWaitersFindTwoAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		held, err := Waiters(FromClient(lock.New(lock.None())), 2).Acquire(t.Context(), "k", time.Second, time.Minute)
		check.NoError(t, err)
		synctest.Wait()
		if err := held.Release(t.Context()); err == nil || !strings.Contains(err.Error(), errTwoAtOnce.Error()) {
			t.Errorf("%v, want %v", err, errTwoAtOnce)
		}
	})
}
