package httpapi

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/internal/coupon"
)

// Coupon is a coupon as clients see it.
type Coupon struct {
	ID           ID        `json:"id"`
	Name         string    `json:"name"`
	BeginTime    time.Time `json:"begin_time"`
	EndTime      time.Time `json:"end_time"`
	InitialStock int       `json:"initial_stock" doc:"All that was ever put on sale"`
	Stock        int       `json:"stock" doc:"What is left"`
	CreatedAt    time.Time `json:"created_at"`
}

func couponOf(c coupon.Coupon) Coupon {
	return Coupon{
		ID: ID{c.ID}, Name: c.Name, BeginTime: c.BeginTime, EndTime: c.EndTime,
		InitialStock: c.InitialStock, Stock: c.Stock, CreatedAt: c.CreatedAt,
	}
}

type (
	couponPath struct {
		ID ID `path:"id"`
	}
	couponAnswer struct {
		Body Coupon
	}
	couponCreated struct {
		Location string `header:"Location"`
		Body     Coupon
	}
)

type createInput struct {
	Body struct {
		Name      string    `json:"name" minLength:"1" maxLength:"100" example:"100 off"`
		BeginTime time.Time `json:"begin_time"`
		EndTime   time.Time `json:"end_time"`
		Stock     int       `json:"stock" minimum:"0" maximum:"1000000000" example:"100"`
	}
}

func (a *API) createCoupon(ctx context.Context, in *createInput) (*couponCreated, error) {
	id, err := a.CouponIDs.Next(ctx)
	if err != nil {
		return nil, fmt.Errorf("coupon id: %w", err)
	}
	c, err := coupon.New(id, in.Body.Name, in.Body.BeginTime, in.Body.EndTime, in.Body.Stock, time.Now())
	if err != nil {
		return nil, err
	}
	if err := a.Coupons.Create(ctx, c); err != nil {
		return nil, err
	}
	return &couponCreated{fmt.Sprintf("/coupons/%d", id), couponOf(c)}, nil
}

func (a *API) readCoupon(ctx context.Context, in *couponPath) (*couponAnswer, error) {
	c, err := a.Coupons.Find(ctx, in.ID.n)
	if err != nil {
		return nil, err
	}
	return &couponAnswer{couponOf(c)}, nil
}

type restockInput struct {
	ID   ID `path:"id"`
	Body struct {
		Add int `json:"add" minimum:"1" maximum:"1000000000" example:"50"`
	}
}

func (a *API) restock(ctx context.Context, in *restockInput) (*couponAnswer, error) {
	c, err := a.Coupons.Restock(ctx, in.ID.n, in.Body.Add)
	if err != nil {
		return nil, err
	}
	a.Cache.Invalidate(in.ID.n)
	return &couponAnswer{couponOf(c)}, nil
}

// page is what every list takes.
type page struct {
	Before ID  `query:"before" doc:"Continue below this id: the last answer's next"`
	Limit  int `query:"limit" minimum:"1" maximum:"100" default:"20"`
}

// next is the cursor after a page whose last id is given, or nothing if the
// page was not full.
func (p page) next(got int, last func() int64) *ID {
	if got < p.Limit {
		return nil
	}
	return &ID{last()}
}

type couponList struct {
	Body struct {
		Coupons []Coupon `json:"coupons" nullable:"false"`
		Next    *ID      `json:"next,omitempty" doc:"Pass as before to go on; absent at the end"`
	}
}

func (a *API) listCoupons(ctx context.Context, in *page) (*couponList, error) {
	found, err := a.Coupons.List(ctx, in.Before.n, in.Limit)
	if err != nil {
		return nil, err
	}
	out := new(couponList)
	out.Body.Coupons = make([]Coupon, 0, len(found))
	for _, c := range found {
		out.Body.Coupons = append(out.Body.Coupons, couponOf(c))
	}
	out.Body.Next = in.next(len(found), func() int64 { return found[len(found)-1].ID })
	return out, nil
}
