package order

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
	"golang.org/x/sync/singleflight"

	"example.com/flashsale/internal/coupon"
)

// winners caches orders by user, so that a repeated claim does not reach the
// database. Orders are never deleted once committed, so an entry stays valid;
// a missing entry proves nothing.
//
// The orders of a coupon that is sold out do not change until a restock.
// findComplete loads them once, so that a winner whose reply was lost finds the
// order among any number of claims that are refused.
type winners struct {
	db      *sqlx.DB
	coupons *coupon.Store

	mu       sync.RWMutex
	byCoupon map[int64]*couponWinners
	size     int // orders of all coupons
	loads    singleflight.Group
}

type couponWinners struct {
	orders map[int64]int64 // order id by user
	// completeAt is the initial stock of the coupon when orders held all its
	// orders; a restock raises the initial stock.
	completeAt int
}

// maxWinners bounds the memory, at some 40 bytes an entry. The orders of a
// coupon with more than half as many are not loaded: a winner's repeated claim
// may then return ErrSoldOut, and ListByUser finds the order.
const maxWinners = 1_000_000

// loadTimeout bounds reading the orders of a coupon.
const loadTimeout = 5 * time.Second

func newWinners(db *sqlx.DB, coupons *coupon.Store) *winners {
	return &winners{db: db, coupons: coupons, byCoupon: map[int64]*couponWinners{}}
}

// find returns the user's order if it is cached.
func (w *winners) find(couponID, userID int64) (orderID int64, found bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if cw := w.byCoupon[couponID]; cw != nil {
		orderID, found = cw.orders[userID]
	}
	return orderID, found
}

// add caches orders of a coupon.
func (w *winners) add(couponID int64, orders ...Order) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addLocked(couponID, orders)
}

// addComplete caches all orders of a coupon that has no stock left.
func (w *winners) addComplete(c coupon.Coupon, orders []Order) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addLocked(c.ID, orders).completeAt = c.InitialStock
}

// addLocked drops the whole cache first if orders do not fit: a claim whose
// entry is missing is only slower.
func (w *winners) addLocked(couponID int64, orders []Order) *couponWinners {
	if w.size+len(orders) > maxWinners {
		w.byCoupon, w.size = map[int64]*couponWinners{}, 0
	}
	cw := w.byCoupon[couponID]
	if cw == nil {
		cw = &couponWinners{orders: map[int64]int64{}}
		w.byCoupon[couponID] = cw
	}
	before := len(cw.orders)
	for _, o := range orders {
		cw.orders[o.UserID] = o.ID
	}
	w.size += len(cw.orders) - before
	return cw
}

// findComplete returns the user's order of a coupon that was seen sold out. It
// loads all of the coupon's orders unless they are cached.
func (w *winners) findComplete(ctx context.Context, c coupon.Coupon, userID int64) (orderID int64, found bool, err error) {
	if c.InitialStock > maxWinners/2 {
		return 0, false, nil
	}
	if !w.complete(c) {
		key := fmt.Sprintf("%d of %d", c.InitialStock, c.ID)
		select {
		case r := <-w.loads.DoChan(key, func() (any, error) { return nil, w.load(context.WithoutCancel(ctx), c.ID) }):
			if r.Err != nil {
				return 0, false, r.Err
			}
		case <-ctx.Done():
			return 0, false, context.Cause(ctx)
		}
	}
	orderID, found = w.find(c.ID, userID)
	return orderID, found, nil
}

// complete reports whether all orders of c are cached.
func (w *winners) complete(c coupon.Coupon) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	cw := w.byCoupon[c.ID]
	return cw != nil && cw.completeAt == c.InitialStock
}

// load caches the coupon's orders. It reads the coupon before the orders: the
// caller may have seen it sold out before a restock, and only if it has no
// stock now are its orders complete.
func (w *winners) load(ctx context.Context, couponID int64) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	c, err := w.coupons.Find(ctx, couponID)
	if err != nil {
		return err
	}
	var orders []Order
	const q = `SELECT id, user_id FROM coupon_orders WHERE coupon_id = ?`
	if err := w.db.SelectContext(ctx, &orders, q, couponID); err != nil {
		return fmt.Errorf("select orders: %w", err)
	}
	if c.Stock > 0 {
		w.add(couponID, orders...)
	} else {
		w.addComplete(c, orders)
	}
	return nil
}
