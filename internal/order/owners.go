package order

import (
	"context"
	"fmt"
	"sync"

	"github.com/jmoiron/sqlx"
	"golang.org/x/sync/singleflight"

	"example.com/flashsale/internal/coupon"
)

// owners remembers who has an order, so that those who ask again do not reach
// the database. Orders are never taken back, so what it knows stays true; what
// it does not know it may learn later.
//
// Of a coupon that is sold out it knows everybody: the owners are then final
// until a restock, and are read once. That is how a winner who lost the answer
// still finds it among the thousands who get none.
type owners struct {
	db *sqlx.DB

	mu       sync.RWMutex
	byCoupon map[int64]*ownersOf
	known    int
	flight   singleflight.Group
}

type ownersOf struct {
	orders map[int64]int64 // by user
	// all is the coupon's initial stock at which every owner was known.
	all int
}

// maxOwners bounds the memory, at some 40 bytes each. A coupon with more is
// answered without looking: its winners find their orders under /orders.
const maxOwners = 1_000_000

func newOwners(db *sqlx.DB) *owners {
	return &owners{db: db, byCoupon: map[int64]*ownersOf{}}
}

// find returns the order that a user is known to have.
func (o *owners) find(couponID, userID int64) (orderID int64, known bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if of := o.byCoupon[couponID]; of != nil {
		orderID, known = of.orders[userID]
	}
	return orderID, known
}

// add notes orders of a coupon. When the memory is full it starts afresh: what
// was forgotten is only a little slower to answer.
func (o *owners) add(couponID int64, orders ...Order) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.addLocked(couponID, orders)
}

// addAll notes all orders of a coupon without stock.
func (o *owners) addAll(c coupon.Coupon, orders []Order) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.addLocked(c.ID, orders).all = c.InitialStock
}

func (o *owners) addLocked(couponID int64, orders []Order) *ownersOf {
	if o.known+len(orders) > maxOwners {
		o.byCoupon, o.known = map[int64]*ownersOf{}, 0
	}
	of := o.byCoupon[couponID]
	if of == nil {
		of = &ownersOf{orders: map[int64]int64{}}
		o.byCoupon[couponID] = of
	}
	before := len(of.orders)
	for _, order := range orders {
		of.orders[order.UserID] = order.ID
	}
	o.known += len(of.orders) - before
	return of
}

// findAmongAll is find for a coupon that has been seen sold out.
func (o *owners) findAmongAll(ctx context.Context, c coupon.Coupon, userID int64) (orderID int64, known bool, err error) {
	if c.InitialStock > maxOwners/2 {
		return 0, false, nil
	}
	o.mu.RLock()
	of := o.byCoupon[c.ID]
	complete := of != nil && of.all == c.InitialStock
	o.mu.RUnlock()
	if !complete {
		flight := fmt.Sprintf("%d of %d", c.InitialStock, c.ID)
		select {
		case r := <-o.flight.DoChan(flight, func() (any, error) { return nil, o.readAll(context.WithoutCancel(ctx), c.ID) }):
			if r.Err != nil {
				return 0, false, r.Err
			}
		case <-ctx.Done():
			return 0, false, context.Cause(ctx)
		}
	}
	orderID, known = o.find(c.ID, userID)
	return orderID, known, nil
}

// readAll looks at the coupon first: who saw it sold out may have seen it
// before a restock, and only without stock are its owners all there will be.
func (o *owners) readAll(ctx context.Context, couponID int64) error {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	now, err := coupon.NewStore(o.db).Find(ctx, couponID)
	if err != nil {
		return err
	}
	var orders []Order
	const q = `SELECT id, user_id FROM coupon_orders WHERE coupon_id = ?`
	if err := o.db.SelectContext(ctx, &orders, q, couponID); err != nil {
		return fmt.Errorf("read the owners: %w", err)
	}
	if now.Stock > 0 {
		o.add(couponID, orders...)
	} else {
		o.addAll(now, orders)
	}
	return nil
}
