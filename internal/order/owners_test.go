package order

import (
	"testing"

	"example.com/flashsale/internal/coupon"
)

func TestMemoryOfOwnersIsBoundedAndNeverHalf(t *testing.T) {
	t.Parallel()
	const many = maxOwners * 3 / 5
	orders := make([]Order, many)
	for i := range orders {
		orders[i] = Order{ID: int64(i) + 1, UserID: int64(i) + 1}
	}
	o := newOwners(nil) // it has no need to ask
	for _, id := range []int64{1, 2} {
		c := coupon.Coupon{ID: id, InitialStock: maxOwners / 2}
		o.addAll(c, orders)
		o.addAll(c, orders) // what is known already takes no room
		if o.known != many {
			t.Errorf("coupon %d: %d owners in memory, want %d", id, o.known, many)
		}
		if got, known, err := o.findAmongAll(t.Context(), c, many); got != many || !known || err != nil {
			t.Errorf("coupon %d: the last owner: %d, %v, %v", id, got, known, err)
		}
	}
	if _, known := o.find(1, 1); known {
		t.Error("the memory holds more than it may")
	}
}
