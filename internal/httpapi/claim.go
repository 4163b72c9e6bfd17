package httpapi

import (
	"context"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"example.com/flashsale/internal/order"
)

const claimRoute = "POST /coupons/{id}/orders"

// refuseOverload passes on claims unless their coupon has more than can be made.
func (a *API) refuseOverload(ctx huma.Context, next func(huma.Context)) {
	var couponID ID
	if couponID.UnmarshalText([]byte(ctx.Param("id"))) == nil && a.cfg.Claims.Overloaded(ctx.Context(), couponID.n) {
		a.metrics.claim(0, overloaded)
		_, w := humachi.Unwrap(ctx)
		overloaded.write(w)
		return
	}
	next(ctx)
}

// claim makes one claim and counts it by its verdict.
func (a *API) claim(ctx context.Context, in *couponPath) (*createdOrderOutput, error) {
	start := time.Now()
	o, err := a.cfg.Claims.Claim(ctx, identityFrom(ctx).UserID, in.ID.n)
	problem := a.problem(ctx, claimRoute, err)
	a.metrics.claim(time.Since(start), problem)
	if problem != nil {
		return nil, problem
	}
	return &createdOrderOutput{location(o), newOrder(o)}, nil
}

func location(o order.Order) string { return "/orders/" + strconv.FormatInt(o.ID, 10) }
