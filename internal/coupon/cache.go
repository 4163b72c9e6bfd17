package coupon

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.com/flashsale/internal/batchread"
)

// A Cache reads each coupon from the store at most once per TTL.
//
// Its coupons are up to one TTL old: for that long, a coupon that another instance
// has restocked may look sold out, and one whose sale it has ended may look open.
// The order's transaction decides on the stock, but not on the window.
type Cache struct {
	// With a thousand coupons on sale, a query for each costs more than their claims.
	reads *batchread.Reader[method, int64, map[int64]Coupon]
	store *Store
	ttl   time.Duration

	mu      sync.RWMutex
	entries map[int64]entry
	evictAt int // the number of entries at which expired ones are evicted
}

// A method is what reads a coupon.
type method int

const (
	find   method = iota // if it is not cached
	reload               // in any case
)

type entry struct {
	coupon    Coupon
	expiresAt time.Time
}

// minEvictAt is the least number of entries at which expired ones are evicted.
const minEvictAt = 4096

// loadTimeout bounds a read of the store. Several callers may wait for the same
// read, so no caller's context may cancel it.
const loadTimeout = 2 * time.Second

// slowRead is when a read of the store no longer holds up the next one. While a table is
// locked, loadTimeout / slowRead of them occupy connections.
const slowRead = 100 * time.Millisecond

// NewCache returns a cache of store. With a ttl of 0 it caches nothing. Concurrent
// Finds share reads in either case.
func NewCache(store *Store, ttl time.Duration) *Cache {
	c := &Cache{store: store, ttl: ttl, entries: map[int64]entry{}, evictAt: minEvictAt}
	c.reads = batchread.New(slowRead, c.read)
	return c
}

// Find returns what Store.Find returned at most one TTL ago. It caches no errors.
func (c *Cache) Find(ctx context.Context, id int64) (Coupon, error) {
	if coupon, ok := c.cached(id); ok {
		return coupon, nil
	}
	all, err := c.reads.Read(ctx, find, id)
	return pick(all, id, err)
}

// Reload reads a coupon from the store, even if it is cached, and caches it. It returns what
// is cached then.
func (c *Cache) Reload(ctx context.Context, id int64) (Coupon, error) {
	all, err := c.reads.Read(ctx, reload, id)
	return pick(all, id, err)
}

// read reads coupons from the store and caches them. For find it looks at the cache once
// more, because another read may have ended since the callers looked.
func (c *Cache) read(ctx context.Context, by method, ids []int64) (map[int64]Coupon, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	all, missing := map[int64]Coupon{}, []int64{}
	for _, id := range ids {
		if coupon, ok := c.cached(id); ok && by == find {
			all[id] = coupon
		} else if !slices.Contains(missing, id) {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return all, nil
	}
	expiresAt := time.Now().Add(c.ttl) // counted from before the read
	read, err := FindAll(ctx, c.store.db, missing...)
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, coupon := range read {
		all[id] = c.put(coupon, expiresAt)
	}
	return all, err
}

// MarkSoldOut sets the stock of a cached coupon to 0, after a transaction has
// found none. Found is the coupon that Find returned before the transaction
// began. If the cache has a newer coupon than found, MarkSoldOut does nothing.
// The mark does not prolong the life of the entry.
func (c *Cache) MarkSoldOut(found Coupon) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[found.ID]; ok && !isNewer(e.coupon, found) {
		e.coupon.Stock = 0
		c.entries[found.ID] = e
	}
}

// Put caches a coupon that has just been changed. A read of the store that began
// before the change does not replace it.
func (c *Cache) Put(coupon Coupon) {
	expiresAt := time.Now().Add(c.ttl)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(coupon, expiresAt)
}

// put caches the coupon and returns it, unless the cache has a newer one that
// has not expired: then it returns that. An expired one gives way, because a
// database that was restored from a backup goes back in its revisions.
func (c *Cache) put(coupon Coupon, expiresAt time.Time) Coupon {
	if e := c.entries[coupon.ID]; isNewer(e.coupon, coupon) && time.Now().Before(e.expiresAt) {
		return e.coupon
	}
	if len(c.entries) >= c.evictAt {
		c.evictExpired()
	}
	c.entries[coupon.ID] = entry{coupon, expiresAt}
	return coupon
}

// isNewer reports whether a has a change, or units that came back, that b lacks.
func isNewer(a, b Coupon) bool {
	return a.Revision > b.Revision || a.Revision == b.Revision && a.Version > b.Version
}

// cached returns an entry that has not expired.
func (c *Cache) cached(id int64) (Coupon, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[id]
	return e.coupon, ok && time.Now().Before(e.expiresAt)
}

// evictExpired evicts the expired entries. Because that looks at every entry, the
// next eviction is due when the entries that remain have doubled.
func (c *Cache) evictExpired() {
	now := time.Now()
	for id, e := range c.entries {
		if now.After(e.expiresAt) {
			delete(c.entries, id)
		}
	}
	c.evictAt = max(minEvictAt, 2*len(c.entries))
}
