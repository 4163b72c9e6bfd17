package pageview_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/pageview"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.RedisServer) }

const views = 100

// countViews calls view from many goroutines at once and returns the final
// count.
func countViews(t *testing.T, url string, view func(context.Context) error) int64 {
	t.Helper()
	check.AtOnce(views, func(int) {
		if err := view(t.Context()); err != nil {
			t.Error(err)
		}
	})
	n, err := labtest.DialURL(t, url).Get(t.Context(), pageview.Key).Int64()
	check.NoError(t, err)
	return n
}

// twoCounters returns a function that alternates between two Counters on one
// Redis, which stand for two processes.
func twoCounters(t *testing.T, url string) func() *pageview.Counter {
	a, b := pageview.New(labtest.DialURL(t, url)), pageview.New(labtest.DialURL(t, url))
	var mu sync.Mutex
	return func() *pageview.Counter {
		mu.Lock()
		defer mu.Unlock()
		a, b = b, a
		return a
	}
}

func TestOnlyADistributedLockOrOneCommandCountsEveryView(t *testing.T) {
	t.Parallel()
	const think = time.Millisecond // so that the views overlap
	for name, c := range map[string]struct {
		complete bool
		count    func(context.Context, *pageview.Counter, *lock.Client) error
	}{
		"atomic": {true, func(ctx context.Context, c *pageview.Counter, _ *lock.Client) error {
			_, err := c.CountAtomically(ctx, think)
			return err
		}},
		"none": {false, func(ctx context.Context, c *pageview.Counter, _ *lock.Client) error {
			_, err := c.CountUnlocked(ctx, think)
			return err
		}},
		"mutex": {false, func(ctx context.Context, c *pageview.Counter, _ *lock.Client) error {
			_, err := c.CountWithMutex(ctx, think)
			return err
		}},
		"lock": {true, func(ctx context.Context, c *pageview.Counter, locks *lock.Client) error {
			_, err := c.CountLocked(ctx, locks, lock.Options{Wait: time.Minute}, think)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := labtest.Redis(t).URL
			next, locks := twoCounters(t, url), lock.New(redislock.New(labtest.DialURL(t, url)))
			got := countViews(t, url, func(ctx context.Context) error { return c.count(ctx, next(), locks) })
			if (got == views) != c.complete {
				t.Errorf("counted %d of %d views", got, views)
			}
		})
	}
}

// The lease of the late holder ends during its pause. With a fence its write is
// refused, without one it overwrites the later holders' count.
func TestStaleFenceIsRefused(t *testing.T) {
	t.Parallel()
	for name, fenced := range map[string]bool{"fenced": true, "unfenced": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := labtest.Redis(t).URL
			rdb := labtest.DialURL(t, url)
			c, newLocker := pageview.New(rdb), redislock.New
			if fenced {
				newLocker = redislock.Fenced
			}
			late := check.Begin(func() error {
				_, err := c.CountLocked(t.Context(), lock.New(newLocker(rdb)),
					lock.Options{TTL: time.Second, NoRenewal: true}, 3*time.Second)
				return err
			})
			for rdb.Exists(t.Context(), pageview.LockKey).Val() == 0 {
				time.Sleep(time.Millisecond)
			}
			o := lock.Options{Wait: 10 * time.Second}
			for range 2 {
				if _, err := c.CountLocked(t.Context(), lock.New(newLocker(labtest.DialURL(t, url))), o,
					0); err != nil {
					t.Fatal(err)
				}
			}
			err := <-late
			if !errors.Is(err, lock.ErrLost) || errors.Is(err, pageview.ErrStale) != fenced {
				t.Errorf("the late holder's error: %v", err)
			}
			want := map[bool]int64{true: 2, false: 1}[fenced]
			if n, _ := rdb.Get(t.Context(), pageview.Key).Int64(); n != want {
				t.Errorf("count = %d, want %d", n, want)
			}
		})
	}
}
