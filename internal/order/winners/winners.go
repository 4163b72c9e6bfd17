// Package winners knows which users have an order, without a transaction and in
// bounded memory. An order may end; what is known of a coupon is valid until its
// version has risen.
package winners

import (
	"context"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
)

// Winners implements order.Winners:
//
//   - recentOrders holds recent orders: repeated claims do not reach the database.
//   - filters holds a Bloom filter for each sold-out coupon: users who have no
//     order, which are nearly all, are told so without a query.
//   - lookups reads the orders of the other users of sold-out coupons.
type Winners struct {
	*recentOrders
	filters *filters
	lookups *lookups
}

// New returns the Winners of db, which may be a replica that lags.
func New(db *sqlx.DB) *Winners {
	return &Winners{
		recentOrders: newRecentOrders(maxRecentOrders),
		filters:      newFilters(db, maxFilterBytes),
		lookups:      newLookups(db),
	}
}

// CheckSoldOut implements order.Winners.
func (w *Winners) CheckSoldOut(ctx context.Context, c coupon.Coupon, by order.Claimant) (order.Precheck, error) {
	if w.filters.exclude(c, by.UserID) {
		return order.PrecheckFilter, coupon.ErrSoldOut
	}
	found, err := w.lookups.Read(ctx, c.ID, by)
	orderID, claimed := found.orders[by]
	switch {
	case err != nil:
		return order.PrecheckLookup, err
	case claimed:
		c.Version = min(c.Version, found.version) // the server that was read may lag
		w.Add(c, by, orderID)
		return order.PrecheckLookup, &order.AlreadyClaimedError{OrderID: orderID}
	case found.soldOut && found.version >= c.Version:
		return order.PrecheckLookup, coupon.ErrSoldOut
	}
	return order.PrecheckLookup, nil
}

// Close implements order.Winners.
func (w *Winners) Close() { w.filters.close() }
