package winners_test

import (
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order/winners"
)

// BenchmarkSoldOut measures how a user without an order is told that a coupon is
// sold out: by the coupon's filter, and by lookups that share queries. The second
// costs the database as well, which the figure includes.
func BenchmarkSoldOut(b *testing.B) {
	db := labtest.DB(b)
	now := time.Now()
	c, err := coupon.New(1, "a coupon", now.Add(-time.Hour), now.Add(time.Hour), 1, now)
	if err != nil {
		b.Fatal(err)
	}
	if err := coupon.NewStore(db).Create(b.Context(), c, 1); err != nil {
		b.Fatal(err)
	}
	db.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (1, 1, 42, NOW())`)
	db.MustExec(`UPDATE coupons SET stock = 0`)
	c.Stock = 0
	for name, filterBytes := range map[string]int{"filter": 1 << 20, "lookups": 0} {
		b.Run(name, func(b *testing.B) {
			w := winners.New(db)
			defer w.Close()
			winners.Limit(w, 10, filterBytes)
			_, _ = w.CheckSoldOut(b.Context(), c, 1)
			labtest.Eventually(b, "the filter is loaded",
				func() bool { return filterBytes == 0 || winners.FilterLoaded(w, 1, 1) })
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				for user := int64(1000); pb.Next(); user++ {
					if _, err := w.CheckSoldOut(b.Context(), c, user); !errors.Is(err, coupon.ErrSoldOut) {
						b.Error(err)
					}
				}
			})
		})
	}
}
