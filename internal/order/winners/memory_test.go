package winners

import (
	"testing"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
)

func TestRecentOrdersAreBoundedAndTheLatestAreKnown(t *testing.T) {
	t.Parallel()
	const limit, kept = 10, 5
	r, c := newRecentOrders(limit), coupon.Coupon{ID: 1}
	for user := range int64(100) {
		r.Add(c, order.Claimant{UserID: user, Number: 1}, user+1)
		if n := len(r.young) + len(r.old); n > limit {
			t.Fatalf("%d orders are held, want %d at most", n, limit)
		}
		for u := max(0, user-kept+1); u <= user; u++ {
			if id, found := r.Find(c, order.Claimant{UserID: u, Number: 1}); !found || id != u+1 {
				t.Errorf("order of user %d after %d orders: %d, %v", u, user+1, id, found)
			}
		}
	}
}

func TestFilterThatDoesNotFitEvictsTheOthersOnceInAWhile(t *testing.T) {
	t.Parallel()
	const limit, size = 100, 50
	fs := newFilters(nil, limit)
	for name, test := range map[string]struct {
		bytes   int
		cleared time.Duration // ago
		fits    bool
		left    int
	}{
		"larger than half": {size + 1, time.Hour, false, 1},
		"a while after":    {size, time.Hour, true, 0},
		"soon after":       {size, 0, false, 1},
	} {
		fs.byCoupon, fs.bytes = map[int64]*filter{1: {bytes: limit}}, limit
		fs.clearedAt = time.Now().Add(-test.cleared)
		if fits := fs.makeRoom(test.bytes); fits != test.fits || len(fs.byCoupon) != test.left {
			t.Errorf("%s: fits: %v, %d filters are left", name, fits, len(fs.byCoupon))
		}
	}
}
