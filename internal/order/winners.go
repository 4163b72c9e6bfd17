package order

import (
	"context"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
)

// winners finds the orders of users who claim again, without a transaction and
// in bounded memory. Orders are never deleted once committed, so an order that
// is found stays valid.
//
//   - orders holds recent orders: repeated claims do not reach the database.
//   - filters holds a Bloom filter for each sold-out coupon: users who have no
//     order, which are nearly all, are told so without a query.
//   - lookups reads the orders of the other users of sold-out coupons.
type winners struct {
	orders  *orderCache
	filters *winnerFilters
	lookups *lookups
}

func newWinners(db *sqlx.DB) *winners {
	return &winners{
		orders:  newOrderCache(maxCachedOrders),
		filters: newWinnerFilters(db, maxFilterBytes),
		lookups: newLookups(db),
	}
}

// find returns the user's order if it is cached.
func (w *winners) find(couponID, userID int64) (orderID int64, found bool) {
	return w.orders.find(couponID, userID)
}

// add caches an order.
func (w *winners) add(couponID, userID, orderID int64) {
	w.orders.add(couponID, userID, orderID)
}

// checkSoldOut returns the verdict on a claim of a coupon that was seen sold
// out: an *AlreadyClaimedError if the user has an order, or coupon.ErrSoldOut;
// and the gate that found it. The verdict is nil if the database shows units left: only a transaction can then
// decide, for the user may have an order that the reading server lacks.
func (w *winners) checkSoldOut(ctx context.Context, c coupon.Coupon, userID int64) (Gate, error) {
	if w.filters.exclude(c, userID) {
		return GateFilter, coupon.ErrSoldOut
	}
	found, err := w.lookups.find(ctx, c.ID, userID)
	switch {
	case err != nil:
		return GateLookup, err
	case found.orderID != 0:
		w.add(c.ID, userID, found.orderID)
		return GateLookup, &AlreadyClaimedError{OrderID: found.orderID}
	case found.soldOut:
		return GateLookup, coupon.ErrSoldOut
	}
	return GateLookup, nil
}

// close returns when no filter is being loaded. Later claims load none.
func (w *winners) close() { w.filters.close() }
