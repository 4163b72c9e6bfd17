// Package winners knows which users have an order, without a transaction and in
// bounded memory. Orders are never deleted once committed, so an order that is
// found stays valid.
package winners

import (
	"context"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
)

// Winners implements order.Winners:
//
//   - recent holds recent orders: repeated claims do not reach the database.
//   - filters holds a Bloom filter for each sold-out coupon: users who have no
//     order, which are nearly all, are told so without a query.
//   - lookups reads the orders of the other users of sold-out coupons.
type Winners struct {
	recent  *recentOrders
	filters *filters
	lookups *lookups
}

// New returns the Winners of db, which may be a replica that lags.
func New(db *sqlx.DB) *Winners {
	return &Winners{
		recent:  newRecentOrders(maxRecentOrders),
		filters: newFilters(db, maxFilterBytes),
		lookups: newLookups(db),
	}
}

// Find implements order.Winners.
func (w *Winners) Find(couponID, userID int64) (orderID int64, found bool) {
	return w.recent.find(couponID, userID)
}

// Add implements order.Winners.
func (w *Winners) Add(couponID, userID, orderID int64) {
	w.recent.add(couponID, userID, orderID)
}

// CheckSoldOut implements order.Winners.
func (w *Winners) CheckSoldOut(ctx context.Context, c coupon.Coupon, userID int64) (order.Precheck, error) {
	if w.filters.exclude(c, userID) {
		return order.PrecheckFilter, coupon.ErrSoldOut
	}
	found, err := w.lookups.Read(ctx, c.ID, userID)
	switch {
	case err != nil:
		return order.PrecheckLookup, err
	case found.orderID != 0:
		w.Add(c.ID, userID, found.orderID)
		return order.PrecheckLookup, &order.AlreadyClaimedError{OrderID: found.orderID}
	case found.soldOut:
		return order.PrecheckLookup, coupon.ErrSoldOut
	}
	return order.PrecheckLookup, nil
}

// Close implements order.Winners.
func (w *Winners) Close() { w.filters.close() }
