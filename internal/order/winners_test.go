package order

import (
	"testing"

	"example.com/flashsale/internal/coupon"
)

func TestWinnersAreBoundedAndCompleteOrAbsent(t *testing.T) {
	t.Parallel()
	const many = maxWinners * 3 / 5
	orders := make([]Order, many)
	for i := range orders {
		orders[i] = Order{ID: int64(i) + 1, UserID: int64(i) + 1}
	}
	w := newWinners(nil, nil) // reads nothing: all orders are added
	for _, id := range []int64{1, 2} {
		c := coupon.Coupon{ID: id, InitialStock: maxWinners / 2}
		w.addComplete(c, orders)
		w.addComplete(c, orders) // cached orders are not counted again
		if w.size != many {
			t.Errorf("coupon %d: %d orders are cached, want %d", id, w.size, many)
		}
		if got, found, err := w.findComplete(t.Context(), c, many); got != many || !found || err != nil {
			t.Errorf("coupon %d: order of the last winner: %d, %v, %v", id, got, found, err)
		}
	}
	if _, found := w.find(1, 1); found {
		t.Error("more orders are cached than the bound allows")
	}
}
