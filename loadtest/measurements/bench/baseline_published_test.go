package bench

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/migrations"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer) }

// The ways that others have published sell the stock and no more, each user one, in
// the bench's plain SQL as well: what oversells would be fast and no comparison.
func TestPublishedWaysSellTheStockAndNoMore(t *testing.T) {
	t.Parallel()
	const stock, users = poolSize + 20, poolSize + 60
	for _, technique := range []string{oneRequest, unitRows} {
		b := onSale(t, technique, stock)
		sellOnce(t, b, technique, users)
		var sold, soldOut atomic.Int64
		var claims sync.WaitGroup
		for worker := range 8 {
			claims.Go(func() {
				for user := worker; user < users-1; user += 8 {
					switch err := b.commit(t.Context(), int64(user+1), int64(user+1), 1); {
					case err == nil:
						sold.Add(1)
					case errors.Is(err, errSoldOut):
						soldOut.Add(1)
					default:
						t.Errorf("%s: %v", technique, err)
					}
				}
			})
		}
		claims.Wait()
		if sold.Load() != stock-1 || soldOut.Load() != users-stock {
			t.Errorf("%s: %d sold, %d times sold out", technique, sold.Load(), soldOut.Load())
		}
		checkSold(t, b, technique, stock)
	}
}

// onSale returns a baseline on a database of its own, whose coupon 1 has that stock.
func onSale(t *testing.T, technique string, stock int) *baseline {
	t.Helper()
	dsn := labtest.EmptyDatabase(t, labtest.SharedMySQL(t))
	db := labtest.Open(t, dsn)
	if err := migrations.Up(t.Context(), db.DB); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c, err := coupon.New(1, "coupon", now.Add(-time.Hour), now.Add(time.Hour), stock, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := coupon.NewStore(db).Create(t.Context(), c, 1); err != nil {
		t.Fatal(err)
	}
	b := &baseline{techniques: []string{interpolate, technique}}
	if b.db, err = b.openMySQL(dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.db.Close() })
	return b
}

// sellOnce requires that a user gets an order, and no second one while there is stock.
func sellOnce(t *testing.T, b *baseline, technique string, user int64) {
	t.Helper()
	if err := b.commit(t.Context(), user, user, 1); err != nil {
		t.Fatalf("%s: %v", technique, err)
	}
	const duplicate = 1062
	err := b.commit(t.Context(), user+1, user, 1)
	if refused, ok := errors.AsType[*mysql.MySQLError](err); !ok || refused.Number != duplicate {
		t.Errorf("%s: a user's second order: %v", technique, err)
	}
}

// checkSold requires that nothing of the stock is left.
func checkSold(t *testing.T, b *baseline, technique string, stock int) {
	t.Helper()
	var left, orders int
	const q = `SELECT stock + (SELECT COALESCE(SUM(stock), 0) FROM coupon_segments), (SELECT COUNT(*) FROM coupon_orders)
		FROM coupons`
	if err := b.db.QueryRowContext(t.Context(), q).Scan(&left, &orders); err != nil {
		t.Fatal(err)
	}
	if left != 0 || orders != stock {
		t.Errorf("%s: %d left, %d orders", technique, left, orders)
	}
}
