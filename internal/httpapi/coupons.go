package httpapi

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/internal/coupon"
)

// A Coupon is the JSON form of a coupon.
type Coupon struct {
	ID           ID        `json:"id"`
	Name         string    `json:"name"`
	BeginTime    time.Time `json:"begin_time"`
	EndTime      time.Time `json:"end_time"`
	InitialStock int       `json:"initial_stock" doc:"Everything that was ever put on sale"`
	Stock        int       `json:"stock" doc:"What is left of it"`
	Segments     int       `json:"segments" doc:"Rows of the database that hold the stock"`
	PerUser      int       `json:"per_user" doc:"Orders that a user may have at a time"`
	HoldSeconds  int       `json:"hold_seconds,omitempty" doc:"After which an order that is not used expires; absent: never"`
	Returnable   bool      `json:"returnable" doc:"Its user may return an order"`
	CreatedAt    time.Time `json:"created_at"`
}

func newCoupon(c coupon.Coupon) Coupon {
	return Coupon{
		ID: ID{c.ID}, Name: c.Name, BeginTime: c.BeginTime, EndTime: c.EndTime,
		InitialStock: c.InitialStock, Stock: c.Stock, Segments: c.Segments, CreatedAt: c.CreatedAt,
		PerUser: c.PerUser, HoldSeconds: c.HoldSeconds, Returnable: c.Returnable,
	}
}

type (
	couponPath struct {
		ID ID `path:"id"`
	}
	createdCouponOutput struct {
		Location string `header:"Location"`
		Body     Coupon
	}
)

type createInput struct {
	Repeatable
	Body struct {
		Name        name      `json:"name" example:"100 off"`
		BeginTime   timestamp `json:"begin_time" example:"2026-11-11T00:00:00+08:00"`
		EndTime     timestamp `json:"end_time" example:"2026-11-12T00:00:00+08:00" doc:"After begin_time"`
		Stock       units     `json:"stock" minimum:"0" maximum:"1000000000" example:"100"`
		Segments    units     `json:"segments,omitempty" minimum:"1" maximum:"64" default:"1" doc:"Rows of the database that the stock is split over, at least a unit each; for several database writers or LOCK_SCOPE=segment"`
		PerUser     units     `json:"per_user,omitempty" minimum:"1" maximum:"100" default:"1" doc:"Orders that a user may have at a time"`
		HoldSeconds units     `json:"hold_seconds,omitempty" minimum:"10" maximum:"2592000" doc:"After which an order that is not used expires, and its unit is on sale again; absent: never"`
		Returnable  flag      `json:"returnable,omitzero" doc:"Its user may return an order that is not used"`
	}
}

func (a *API) createCoupon(ctx context.Context, in *createInput) (*createdCouponOutput, error) {
	id, err := a.cfg.CouponIDs.Next(ctx)
	if err != nil {
		return nil, fmt.Errorf("coupon id: %w", err)
	}
	b := in.Body
	c, err := coupon.New(id, string(b.Name), b.BeginTime.Time, b.EndTime.Time, int(b.Stock), a.cfg.Now())
	if err == nil {
		c, err = c.Split(int(b.Segments))
	}
	if err == nil {
		c, err = c.WithRules(coupon.Rules{
			PerUser: int(b.PerUser), HoldSeconds: int(b.HoldSeconds), Returnable: b.Returnable.on,
		})
	}
	if err == nil && b.Returnable.null {
		err = &coupon.InvalidError{Field: "returnable", Message: "must be true or false"}
	}
	if err != nil {
		return nil, err
	}
	if c, err = a.once(in.Repeatable).Create(ctx, c, identityFrom(ctx).UserID); err != nil {
		return nil, err
	}
	return &createdCouponOutput{fmt.Sprintf("/coupons/%d", c.ID), newCoupon(c)}, nil
}

func (a *API) readCoupon(ctx context.Context, in *couponPath) (*output[Coupon], error) {
	c, err := a.cfg.Coupons.Find(ctx, in.ID.n)
	return reply(newCoupon, c, err)
}

type restockInput struct {
	Repeatable
	ID   ID `path:"id"`
	Body struct {
		Add units `json:"add" minimum:"1" maximum:"1000000000" example:"50"`
	}
}

func (a *API) restock(ctx context.Context, in *restockInput) (*output[Coupon], error) {
	c, err := a.changes(in.Repeatable).Restock(ctx, in.ID.n, int(in.Body.Add), identityFrom(ctx).UserID)
	return reply(newCoupon, c, err)
}

type couponList struct {
	Body struct {
		Coupons []Coupon `json:"coupons" nullable:"false"`
		Next    *ID      `json:"next,omitempty" doc:"Pass it as before to continue; absent at the end"`
	}
}

func (a *API) listCoupons(ctx context.Context, in *Page) (*couponList, error) {
	found, err := a.cfg.Coupons.List(ctx, in.Before.n, in.Limit)
	if err != nil {
		return nil, err
	}
	out := new(couponList)
	out.Body.Coupons, out.Body.Next = listed(*in, found, newCoupon, func(c coupon.Coupon) int64 { return c.ID })
	return out, nil
}
