package coupon

import (
	"context"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// A Cache spares the store all but one read of a coupon per ttl and instance.
//
// What it returns is up to ttl old: a coupon that was restocked elsewhere may
// look sold out for that long, and no longer. It is a gate before the order's
// transaction, which decides.
type Cache struct {
	store *Store
	ttl   time.Duration

	mu      sync.RWMutex
	entries map[int64]entry
	flight  singleflight.Group
}

type entry struct {
	coupon Coupon
	until  time.Time
}

// maxEntries is how many coupons are kept before the stale ones are dropped.
const maxEntries = 4096

// fetchTimeout bounds a read that several callers may be waiting for, none of
// which may cancel it for the others.
const fetchTimeout = 2 * time.Second

// NewCache returns a cache over store.
func NewCache(store *Store, ttl time.Duration) *Cache {
	return &Cache{store: store, ttl: ttl, entries: map[int64]entry{}}
}

// Find is Store.Find, up to ttl late.
func (c *Cache) Find(ctx context.Context, id int64) (Coupon, error) {
	if coupon, ok := c.fresh(id); ok {
		return coupon, nil
	}
	select {
	case r := <-c.flight.DoChan(key(id), func() (any, error) { return c.fetch(context.WithoutCancel(ctx), id) }):
		if r.Err != nil {
			return Coupon{}, r.Err
		}
		return r.Val.(Coupon), nil
	case <-ctx.Done():
		return Coupon{}, context.Cause(ctx)
	}
}

// SoldOut notes that the store has just been seen without stock. Like
// everything here, the note is forgotten after ttl.
func (c *Cache) SoldOut(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[id]; ok {
		e.coupon.Stock = 0
		c.entries[id] = e
	}
}

// Forget makes the next Find read the store.
func (c *Cache) Forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, id)
	c.flight.Forget(key(id))
}

func (c *Cache) fresh(id int64) (Coupon, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[id]
	return e.coupon, ok && time.Now().Before(e.until)
}

// fetch looks once more before it reads: the flight that the caller missed may
// have landed between its look and this one.
func (c *Cache) fetch(ctx context.Context, id int64) (Coupon, error) {
	if coupon, ok := c.fresh(id); ok {
		return coupon, nil
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	until := time.Now().Add(c.ttl) // counted from before the read
	coupon, err := c.store.Find(ctx, id)
	if err != nil {
		return Coupon{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= maxEntries {
		c.dropStale()
	}
	c.entries[id] = entry{coupon, until}
	return coupon, nil
}

func (c *Cache) dropStale() {
	now := time.Now()
	for id, e := range c.entries {
		if now.After(e.until) {
			delete(c.entries, id)
		}
	}
}

func key(id int64) string { return strconv.FormatInt(id, 10) }
