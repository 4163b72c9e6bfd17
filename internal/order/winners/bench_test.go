package winners_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/winners"
)

// BenchmarkSoldOut measures how a user without an order is told that a coupon is
// sold out: by the coupon's filter, or by lookups that share queries.
func BenchmarkSoldOut(b *testing.B) {
	db, c := soldOut(b)
	for _, bench := range []struct {
		name        string
		filterBytes int
	}{{"filter", 1 << 20}, {"lookups", 0}} {
		b.Run(bench.name, func(b *testing.B) {
			w := winners.New(db)
			defer w.Close()
			winners.Limit(w, 10, bench.filterBytes)
			_, _ = w.CheckSoldOut(b.Context(), c, first(1))
			check.Eventually(b, "the filter is loaded",
				func() bool { return bench.filterBytes == 0 || winners.FilterLoaded(w, 1, 0) })
			inParallel(b, func() error {
				_, err := w.CheckSoldOut(b.Context(), c, first(1000+rand.Int64N(1e9)))
				if !errors.Is(err, coupon.ErrSoldOut) {
					return fmt.Errorf("a user without an order: %w", err)
				}
				return nil
			})
		})
	}
}

// BenchmarkRepeatedClaim measures how a user with an order of a sold-out coupon is
// told its id: from the recent orders, or by lookups that share queries.
func BenchmarkRepeatedClaim(b *testing.B) {
	db, c := soldOut(b)
	w := winners.New(db)
	defer w.Close()
	winners.Limit(w, 10, 0)
	w.Add(c, first(winner), 1)
	b.Run("recent", func(b *testing.B) {
		inParallel(b, func() error {
			if _, found := w.Find(c, first(winner)); !found {
				return errors.New("the order is not found")
			}
			return nil
		})
	})
	b.Run("lookups", func(b *testing.B) {
		inParallel(b, func() error {
			if _, err := w.CheckSoldOut(b.Context(), c, first(winner)); !errors.Is(err, order.ErrAlreadyClaimed) {
				return fmt.Errorf("a user with an order: %w", err)
			}
			return nil
		})
	})
}

// first is a user's first claim.
func first(userID int64) order.Claimant { return order.Claimant{UserID: userID, Number: 1} }

// winner is the only user with an order.
const winner = 42

// soldOut creates a coupon whose only unit is sold to winner.
func soldOut(b *testing.B) (*sqlx.DB, coupon.Coupon) {
	b.Helper()
	db := labtest.DB(b)
	now := time.Now()
	c, err := coupon.New(1, "a coupon", now.Add(-time.Hour), now.Add(time.Hour), 1, now)
	check.NoError(b, err)
	if _, err := coupon.NewStore(db).Create(b.Context(), c, 1); err != nil {
		b.Fatal(err)
	}
	db.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (1, 1, ?, NOW())`, winner)
	db.MustExec(`UPDATE coupons SET stock = 0`)
	c.Stock = 0
	return db, c
}

// inParallel measures op with 128 goroutines.
func inParallel(b *testing.B, op func() error) {
	b.Helper()
	b.SetParallelism(64)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := op(); err != nil {
				b.Error(err)
			}
		}
	})
}
