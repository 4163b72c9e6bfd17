// Package ratelimit limits how often each key, such as a user's id, may do
// something. The memory it takes does not depend on the number of keys.
package ratelimit

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// buckets is the size of the table. It takes 1 MB, without a pointer that the
// garbage collector would follow.
const buckets = 1 << 17

// A Limiter has a table of buckets. A key's hash selects its bucket, so keys
// with equal hashes share one: a key that is always refused has the others in
// its bucket refused as well, which are one in 131,072. The hash is seeded, so
// that no client can choose its bucket, and each process has another seed.
//
// A bucket is one number, as in the generic cell rate algorithm (ITU-T I.371):
// the time at which all events so far would have happened at the rate.
//
// A nil Limiter allows everything. A Limiter is safe for concurrent use.
type Limiter[K comparable] struct {
	seed     maphash.Seed
	begin    time.Time
	interval time.Duration // between two events at the rate
	ahead    time.Duration // how far a bucket may be ahead of the clock: the burst
	table    []atomic.Int64
}

// New returns a Limiter that allows each key perSecond events a second on
// average, and up to burst at once. It returns nil if perSecond is 0.
func New[K comparable](perSecond float64, burst int) *Limiter[K] {
	if perSecond == 0 {
		return nil
	}
	const longest = 100 * 365 * 24 * time.Hour // sums of two do not overflow
	interval := min(float64(time.Second)/perSecond, float64(longest))
	return &Limiter[K]{
		seed: maphash.MakeSeed(), begin: time.Now(), table: make([]atomic.Int64, buckets),
		interval: time.Duration(interval), ahead: time.Duration(min(float64(burst)*interval, float64(longest))),
	}
}

// Allow reports whether an event of key may happen now, and counts it if so.
func (l *Limiter[K]) Allow(key K) bool {
	if l == nil {
		return true
	}
	bucket := &l.table[maphash.Comparable(l.seed, key)%buckets]
	now := time.Since(l.begin)
	for {
		old := bucket.Load()
		next := max(time.Duration(old), now) + l.interval
		if next-now > l.ahead {
			return false
		}
		if bucket.CompareAndSwap(old, int64(next)) {
			return true
		}
	}
}
