package coupon_test

import (
	"testing"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
)

// BenchmarkFind measures how a claim finds its coupon: from the cache, or without
// one by reads of the store that concurrent claims share.
func BenchmarkFind(b *testing.B) {
	db := labtest.DB(b)
	createCoupons(b, db, 1)
	for _, bench := range []struct {
		name string
		ttl  time.Duration
	}{{"cached", 200 * time.Millisecond}, {"shared reads", 0}} {
		b.Run(bench.name, func(b *testing.B) {
			cache := coupon.NewCache(coupon.NewStore(db), bench.ttl)
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := cache.Find(b.Context(), 1); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
