// Package pageview counts page views in the wrong way, on purpose: it reads
// the count, adds one and writes it back. Only a lock prevents lost updates, so
// the final count shows whether a lock excludes. The lab compares locks by it.
//
// CountAtomically counts as a real counter does, by INCR, which needs no lock.
package pageview

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
)

// Key holds the count in Redis. LockKey is the name of the lock.
const (
	Key     = "pview"
	LockKey = "redis_lock:pview"

	fenceKey = "{pview}:fence" // in the same cluster slot as Key
)

// ErrStale reports that the count has been written with a later fence, and
// that this view was therefore not written.
var ErrStale = errors.New("pageview: stale fence")

var (
	//go:embed write.lua
	writeLua    string
	writeScript = redis.NewScript(writeLua)
)

// A Counter counts page views in Redis. It is safe for concurrent use.
type Counter struct {
	rdb redis.UniversalClient
	mu  sync.Mutex // held by CountWithMutex
}

// New returns a Counter. The count starts at zero if Redis holds none.
func New(rdb redis.UniversalClient) *Counter { return &Counter{rdb: rdb} }

// A View is the result of counting one page view.
type View struct {
	Count int64         // the count after this view
	Wait  time.Duration // how long the lock was waited for
}

// CountAtomically counts a view by INCR, which reads and writes in one command:
// no other view comes between, and think has no place.
func (c *Counter) CountAtomically(ctx context.Context, _ time.Duration) (View, error) {
	n, err := c.rdb.Incr(ctx, Key).Result()
	if err != nil {
		return View{}, fmt.Errorf("pageview: increment: %w", err)
	}
	return View{Count: n}, nil
}

// CountUnlocked counts a view without a lock. In every other Count method, think is
// the pause between reading and writing.
func (c *Counter) CountUnlocked(ctx context.Context, think time.Duration) (View, error) {
	n, err := c.increment(ctx, think, 0)
	return View{Count: n}, err
}

// CountWithMutex counts a view under a mutex, which excludes within this
// process only.
func (c *Counter) CountWithMutex(ctx context.Context, think time.Duration) (View, error) {
	start := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := time.Since(start)
	n, err := c.increment(ctx, think, 0)
	return View{n, wait}, err
}

// CountLocked counts a view under the lock LockKey. It writes even if the
// lock has been lost meanwhile, as code does that never checks: then only the
// fence, if the driver has fences, prevents it from overwriting a later holder's count.
func (c *Counter) CountLocked(
	ctx context.Context, locks *lock.Client, o lock.Options, think time.Duration,
) (v View, err error) {
	start := time.Now()
	err = locks.Do(ctx, LockKey, o, func(_ context.Context, l *lock.Lock) error {
		v.Wait = time.Since(start)
		var err error
		v.Count, err = c.increment(ctx, think, l.Fence())
		return err
	})
	return v, err
}

// increment reads the count, pauses, and writes the count plus one. It returns
// ErrStale if a fence above the given one has been written.
func (c *Counter) increment(ctx context.Context, think time.Duration, fence uint64) (int64, error) {
	n, err := c.rdb.Get(ctx, Key).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("pageview: read: %w", err)
	}
	time.Sleep(think)
	stored, err := writeScript.Run(ctx, c.rdb, []string{Key, fenceKey}, n+1, fence).Bool()
	if err != nil {
		return 0, fmt.Errorf("pageview: write: %w", err)
	}
	if !stored {
		return 0, ErrStale
	}
	return n + 1, nil
}
