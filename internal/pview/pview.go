// Package pview counts the views of a page as one should not: by reading the
// count, adding one and writing it back. Nothing but a lock protects it, which
// is what it is for: the lab shows with it which locks do.
//
// (Whoever wants to count sends INCR, which needs no lock.)
package pview

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

// Key is where the count is, and LockKey names the lock.
const (
	Key     = "pview"
	LockKey = "redis_lock:pview"

	fenceKey = "{pview}:fence" // in the count's slot
)

// ErrStale says that the store has seen a later fence than the writer's.
var ErrStale = errors.New("pview: a later holder has written")

var (
	//go:embed write.lua
	writeLua    string
	writeScript = redis.NewScript(writeLua)
)

// A Counter raises the count in Redis.
type Counter struct {
	rdb  redis.UniversalClient
	here sync.Mutex // what protects one process from itself
}

// New returns a counter whose count starts at zero, if there is none.
func New(rdb redis.UniversalClient) *Counter { return &Counter{rdb: rdb} }

// A View is one view of the page.
type View struct {
	Count int64         // after it
	Wait  time.Duration // for the lock
}

// Unlocked counts without a lock.
func (c *Counter) Unlocked(ctx context.Context, think time.Duration) (View, error) {
	n, err := c.raise(ctx, think, 0)
	return View{Count: n}, err
}

// Here counts under this process's mutex.
func (c *Counter) Here(ctx context.Context, think time.Duration) (View, error) {
	began := time.Now()
	c.here.Lock()
	defer c.here.Unlock()
	wait := time.Since(began)
	n, err := c.raise(ctx, think, 0)
	return View{n, wait}, err
}

// Locked counts while it holds l. It writes even if the lock is lost on the
// way, as code does that does not look: then the fence, if l has one, is all
// that keeps it from overwriting a later holder's count.
func (c *Counter) Locked(ctx context.Context, l lock.Locker, o lock.Options, think time.Duration) (v View, err error) {
	began := time.Now()
	err = lock.Do(ctx, l, LockKey, o, func(_ context.Context, h *lock.Held) error {
		v.Wait = time.Since(began)
		var err error
		v.Count, err = c.raise(ctx, think, h.Fence())
		return err
	})
	return v, err
}

// raise reads, thinks, and writes.
func (c *Counter) raise(ctx context.Context, think time.Duration, fence uint64) (int64, error) {
	n, err := c.rdb.Get(ctx, Key).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("pview: read: %w", err)
	}
	time.Sleep(think)
	stored, err := writeScript.Run(ctx, c.rdb, []string{Key, fenceKey}, n+1, fence).Bool()
	if err != nil {
		return 0, fmt.Errorf("pview: write: %w", err)
	}
	if !stored {
		return 0, ErrStale
	}
	return n + 1, nil
}
