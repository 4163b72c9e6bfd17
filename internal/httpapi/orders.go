package httpapi

import (
	"context"
	"time"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/life"
)

// An Order is the JSON form of an order.
type Order struct {
	ID        ID         `json:"id"`
	CouponID  ID         `json:"coupon_id"`
	UserID    ID         `json:"user_id"`
	Number    int        `json:"number" doc:"Which of the orders that the user may have of the coupon"`
	State     string     `json:"state" enum:"claimed,used,returned,expired"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"Until when it can be used; absent: for ever, or it has ended"`
	UsedAt    *time.Time `json:"used_at,omitempty"`
	Reference *string    `json:"reference,omitempty" doc:"Of the use"`
	EndedAt   *time.Time `json:"ended_at,omitempty" doc:"When it was returned or expired"`
}

func newOrder(o order.Order) Order {
	return Order{
		ID: ID{o.ID}, CouponID: ID{o.CouponID}, UserID: ID{o.UserID}, Number: o.Number, State: string(o.State),
		CreatedAt: o.CreatedAt, ExpiresAt: o.ExpiresAt, UsedAt: o.UsedAt, Reference: o.UsedRef, EndedAt: o.EndedAt,
	}
}

type (
	orderPath struct {
		ID ID `path:"id"`
	}
	createdOrderOutput struct {
		Location string `header:"Location"`
		Body     Order
	}
)

// readOrder replies to a request for another user's order as if there were none.
func (a *API) readOrder(ctx context.Context, in *orderPath) (*output[Order], error) {
	o, err := a.cfg.Orders.Find(ctx, in.ID.n)
	if caller := identityFrom(ctx); err == nil && o.UserID != caller.UserID && caller.Role != auth.RoleAdmin {
		err = order.ErrNotFound
	}
	return reply(newOrder, o, err)
}

// returnOrder replies alike to a repeated request.
func (a *API) returnOrder(ctx context.Context, in *orderPath) (*output[Order], error) {
	caller := identityFrom(ctx)
	o, err := a.cfg.Life.Return(ctx, in.ID.n, life.Caller{UserID: caller.UserID, Admin: caller.Role == auth.RoleAdmin})
	return reply(newOrder, o, err)
}

type useInput struct {
	ID   ID `path:"id"`
	Body struct {
		Reference string `json:"reference" minLength:"1" maxLength:"64" pattern:"^[ -~]+$" example:"till-7/4711" doc:"Names this use: a request that is repeated with it gets the same reply"`
	}
}

func (a *API) useOrder(ctx context.Context, in *useInput) (*output[Order], error) {
	o, err := a.cfg.Life.Use(ctx, in.ID.n, identityFrom(ctx).UserID, in.Body.Reference)
	return reply(newOrder, o, err)
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
	out := new(orderList)
	out.Body.Orders, out.Body.Next = listed(*in, found, newOrder, func(o order.Order) int64 { return o.ID })
	return out, nil
}

const (
	auditRoute = "GET /coupons/{id}/audit"
	// auditTimeout bounds an audit, which reads all orders of a coupon. It is below nginx's proxy_read_timeout.
	auditTimeout = 9 * time.Second
)

// An Audit is the JSON form of order.Audit.
type Audit struct {
	CouponID      ID  `json:"coupon_id"`
	InitialStock  int `json:"initial_stock"`
	Stock         int `json:"stock"`
	Orders        int `json:"orders"`
	DistinctUsers int `json:"distinct_users"`
	MostPerUser   int `json:"most_per_user"`
	Oversold      int `json:"oversold" doc:"Orders beyond the initial stock"`
	Duplicates    int `json:"duplicates" doc:"Orders of users beyond per_user"`
	Undersold     int `json:"undersold" doc:"Units that left the stock without an order"`
	Surplus       int `json:"surplus" doc:"Units that came back to the stock without an order that ended"`
	Used          int `json:"used" doc:"Of the orders"`
	Returned      int `json:"returned" doc:"Orders that ended so, and do not count"`
	Expired       int `json:"expired" doc:"Orders that ended so, and do not count"`
	Overdue       int `json:"overdue" doc:"Orders that should have expired for more than a minute"`
	OutsideWindow int `json:"outside_window" doc:"Orders made at a time that was in no window that the coupon has had"`
}

func newAudit(a order.Audit) Audit {
	return Audit{
		CouponID: ID{a.CouponID}, InitialStock: a.InitialStock, Stock: a.Stock,
		Orders: a.Orders, DistinctUsers: a.DistinctUsers, MostPerUser: a.MostPerUser,
		Oversold: a.Oversold(), Duplicates: a.Duplicates(), Undersold: a.Undersold(),
		Surplus: a.Surplus(), Used: a.Used, Returned: a.Returned, Expired: a.Expired,
		Overdue: a.Overdue, OutsideWindow: a.OutsideWindow,
	}
}

func (a *API) audit(ctx context.Context, in *couponPath) (*output[Audit], error) {
	found, err := a.audits.Read(ctx, in.ID.n, struct{}{})
	return reply(newAudit, found, err)
}

func (a *API) runAudit(ctx context.Context, couponID int64, _ []struct{}) (order.Audit, error) {
	ctx, cancel := context.WithTimeout(ctx, a.deadline(auditRoute))
	defer cancel()
	return a.cfg.Orders.Audit(ctx, couponID)
}
