package httpapi

import (
	"context"
	"time"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/order"
)

// An Order is the JSON form of an order.
type Order struct {
	ID        ID        `json:"id"`
	CouponID  ID        `json:"coupon_id"`
	UserID    ID        `json:"user_id"`
	CreatedAt time.Time `json:"created_at"`
}

func newOrder(o order.Order) Order {
	return Order{ID{o.ID}, ID{o.CouponID}, ID{o.UserID}, o.CreatedAt}
}

type (
	orderPath struct {
		ID ID `path:"id"`
	}
	orderOutput struct {
		Body Order
	}
	createdOrderOutput struct {
		Location string `header:"Location"`
		Body     Order
	}
)

// readOrder replies to a request for another user's order as if there were none.
func (a *API) readOrder(ctx context.Context, in *orderPath) (*orderOutput, error) {
	o, err := a.cfg.Orders.Find(ctx, in.ID.n)
	if err != nil {
		return nil, err
	}
	if caller := identityFrom(ctx); o.UserID != caller.UserID && caller.Role != auth.RoleAdmin {
		return nil, order.ErrNotFound
	}
	return &orderOutput{newOrder(o)}, nil
}

type orderList struct {
	Body struct {
		Orders []Order `json:"orders" nullable:"false"`
		Next   *ID     `json:"next,omitempty" doc:"Pass it as before to continue; absent at the end"`
	}
}

func (a *API) listOrders(ctx context.Context, in *Page) (*orderList, error) {
	found, err := a.cfg.Orders.ListByUser(ctx, identityFrom(ctx).UserID, in.Before.n, in.Limit)
	if err != nil {
		return nil, err
	}
	return newOrderList(found, in.next(len(found), func() int64 { return found[len(found)-1].ID })), nil
}

func newOrderList(orders []order.Order, next *ID) *orderList {
	out := new(orderList)
	out.Body.Orders = make([]Order, 0, len(orders))
	for _, o := range orders {
		out.Body.Orders = append(out.Body.Orders, newOrder(o))
	}
	out.Body.Next = next
	return out
}

// An Audit is the JSON form of order.Audit.
type Audit struct {
	CouponID      ID  `json:"coupon_id"`
	InitialStock  int `json:"initial_stock"`
	Stock         int `json:"stock"`
	Orders        int `json:"orders"`
	DistinctUsers int `json:"distinct_users"`
	MostPerUser   int `json:"most_per_user"`
	Oversold      int `json:"oversold" doc:"Orders beyond the initial stock"`
	Duplicates    int `json:"duplicates" doc:"Orders beyond one for each user"`
	Undersold     int `json:"undersold" doc:"Units that left the stock without an order"`
	OutsideWindow int `json:"outside_window" doc:"Orders made at a time that was in no window that the coupon has had"`
}

type auditOutput struct {
	Body Audit
}

func (a *API) audit(ctx context.Context, in *couponPath) (*auditOutput, error) {
	found, err := a.cfg.Orders.Audit(ctx, in.ID.n)
	if err != nil {
		return nil, err
	}
	return &auditOutput{Audit{
		CouponID: ID{found.CouponID}, InitialStock: found.InitialStock, Stock: found.Stock,
		Orders: found.Orders, DistinctUsers: found.DistinctUsers, MostPerUser: found.MostPerUser,
		Oversold: found.Oversold(), Duplicates: found.Duplicates(), Undersold: found.Undersold(),
		OutsideWindow: found.OutsideWindow,
	}}, nil
}
