// Package ratelimit limits how often each key, such as a user's id, may do
// something. The memory it takes does not depend on the number of keys.
package ratelimit

import (
	"hash/maphash"

	"golang.org/x/time/rate"
)

// buckets is the size of the table. It takes 7 MB.
const buckets = 1 << 16

// A Limiter has a table of token buckets. A key's hash selects its bucket, so
// keys with equal hashes share one: a key that is always refused has the others
// in its bucket refused as well, which are one in 65,536. The hash is seeded, so
// that no client can choose its bucket, and each process has another seed.
//
// A nil Limiter allows everything. A Limiter is safe for concurrent use.
type Limiter[K comparable] struct {
	seed  maphash.Seed
	table []*rate.Limiter
}

// New returns a Limiter that allows each key perSecond events a second on
// average, and up to burst at once. It returns nil if perSecond is 0.
func New[K comparable](perSecond float64, burst int) *Limiter[K] {
	if perSecond == 0 {
		return nil
	}
	l := &Limiter[K]{maphash.MakeSeed(), make([]*rate.Limiter, buckets)}
	for i := range l.table {
		l.table[i] = rate.NewLimiter(rate.Limit(perSecond), burst)
	}
	return l
}

// Allow reports whether an event of key may happen now, and counts it if so.
func (l *Limiter[K]) Allow(key K) bool {
	return l == nil || l.table[maphash.Comparable(l.seed, key)%buckets].Allow()
}
