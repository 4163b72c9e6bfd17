package httpapi

import (
	"context"
	"time"

	"example.com/flashsale/internal/coupon"
)

// A Change is the JSON form of coupon.Change.
type Change struct {
	ID           ID               `json:"id"`
	CouponID     ID               `json:"coupon_id"`
	AdminID      ID               `json:"admin_id" doc:"The user who did it"`
	Action       string           `json:"action" enum:"create,restock,update"`
	InitialStock Step[int]        `json:"initial_stock" doc:"From 0 if the coupon was created"`
	Stock        Step[int]        `json:"stock" doc:"From 0 if the coupon was created"`
	Name         *Step[string]    `json:"name,omitempty" doc:"Of an update, like the window; the same twice if it was not changed"`
	BeginTime    *Step[time.Time] `json:"begin_time,omitempty"`
	EndTime      *Step[time.Time] `json:"end_time,omitempty"`
	CreatedAt    time.Time        `json:"created_at"`
}

// A Step is a value before and after a change.
type Step[T any] struct {
	From T `json:"from"`
	To   T `json:"to"`
}

func newChange(c coupon.Change) Change {
	change := Change{
		ID: ID{c.ID}, CouponID: ID{c.CouponID}, AdminID: ID{c.AdminID}, Action: c.Action,
		InitialStock: Step[int]{c.InitialStockFrom, c.InitialStockTo}, Stock: Step[int]{c.StockFrom, c.StockTo},
		CreatedAt: c.CreatedAt,
	}
	if c.NameFrom != nil {
		change.Name = &Step[string]{*c.NameFrom, *c.NameTo}
		change.BeginTime = &Step[time.Time]{*c.BeginTimeFrom, *c.BeginTimeTo}
		change.EndTime = &Step[time.Time]{*c.EndTimeFrom, *c.EndTimeTo}
	}
	return change
}

type changesInput struct {
	Page
	CouponID ID `query:"coupon_id" doc:"Only changes of this coupon"`
}

type changeList struct {
	Body struct {
		Changes []Change `json:"changes" nullable:"false"`
		Next    *ID      `json:"next,omitempty" doc:"Pass it as before to continue; absent at the end"`
	}
}

func (a *API) listChanges(ctx context.Context, in *changesInput) (*changeList, error) {
	found, err := a.cfg.Coupons.Changes(ctx, in.CouponID.n, in.Before.n, in.Limit)
	if err != nil {
		return nil, err
	}
	out := new(changeList)
	out.Body.Changes, out.Body.Next = listed(in.Page, found, newChange, func(c coupon.Change) int64 { return c.ID })
	return out, nil
}
