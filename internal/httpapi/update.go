package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"example.com/flashsale/internal/coupon"
)

type updateInput struct {
	Repeatable
	ID   ID `path:"id"`
	Body couponUpdate
}

type couponUpdate struct {
	Name      optional[name]      `json:"name,omitzero" example:"100 off"`
	BeginTime optional[timestamp] `json:"begin_time,omitzero" example:"2026-11-11T00:00:00+08:00"`
	EndTime   optional[timestamp] `json:"end_time,omitzero" example:"2026-11-12T00:00:00+08:00" doc:"After begin_time. A time that is past ends the sale; a later one opens it again"`
}

// TransformSchema implements huma.SchemaTransformer.
func (couponUpdate) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	one := 1
	s.MinProperties = &one
	s.PrecomputeMessages()
	return s
}

// An optional is a member that a request may leave out; then value is nil. huma
// lets such a member be null, which becomes T's zero value: package coupon refuses
// it.
type optional[T huma.SchemaProvider] struct{ value *T }

// Schema implements huma.SchemaProvider.
func (optional[T]) Schema(r huma.Registry) *huma.Schema { return (*new(T)).Schema(r) }

// UnmarshalJSON implements json.Unmarshaler.
func (o *optional[T]) UnmarshalJSON(text []byte) error {
	o.value = new(T)
	return json.Unmarshal(text, o.value)
}

func (u couponUpdate) update() coupon.Update {
	return coupon.Update{
		Name: (*string)(u.Name.value), BeginTime: timeOf(u.BeginTime), EndTime: timeOf(u.EndTime),
	}
}

func timeOf(o optional[timestamp]) *time.Time {
	if o.value == nil {
		return nil
	}
	return &o.value.Time
}

func (a *API) updateCoupon(ctx context.Context, in *updateInput) (*output[Coupon], error) {
	c, err := a.changes(in.Repeatable).Update(ctx, in.ID.n, in.Body.update(), identityFrom(ctx).UserID)
	return reply(newCoupon, c, err)
}
