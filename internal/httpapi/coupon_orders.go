package httpapi

import (
	"context"

	"example.com/flashsale/internal/order"
)

type couponOrdersInput struct {
	ID ID `path:"id"`
	Page
}

// listCouponOrders replies with a page of a coupon's orders. Its cursor is the id of
// the last user, not of the last order.
func (a *API) listCouponOrders(ctx context.Context, in *couponOrdersInput) (*orderList, error) {
	found, err := a.couponOrders(ctx, in.ID.n, in.Before.n, in.Limit)
	if err != nil {
		return nil, err
	}
	out := new(orderList)
	out.Body.Orders, out.Body.Next = listed(in.Page, found, newOrder, func(o order.Order) int64 { return o.UserID })
	return out, nil
}

// couponOrders returns what order.Store.ListByCoupon returns, or coupon.ErrNotFound.
func (a *API) couponOrders(ctx context.Context, couponID, before int64, limit int) ([]order.Order, error) {
	if _, err := a.cfg.Cache.Find(ctx, couponID); err != nil {
		return nil, err
	}
	return a.cfg.Orders.ListByCoupon(ctx, couponID, before, limit)
}
