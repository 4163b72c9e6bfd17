package httpapi

import (
	"context"
	"slices"
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
	if couponID.UnmarshalText([]byte(ctx.Param("id"))) == nil && a.cfg.Claims.Overloaded(couponID.n) {
		a.countClaim(0, overloaded)
		_, w := humachi.Unwrap(ctx)
		overloaded.write(w)
		return
	}
	next(ctx)
}

type claimInput struct {
	ID     ID  `path:"id"`
	Number int `query:"number" minimum:"1" maximum:"100" default:"1" doc:"Which of the orders that per_user allows. The client chooses it, so a repeated claim finds its own order"`
}

// Resolve implements huma.Resolver.
func (in *claimInput) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	return plainNumber(u.RawQuery, "number", in.Number)
}

// claim makes one claim and counts it by its verdict.
func (a *API) claim(ctx context.Context, in *claimInput) (*createdOrderOutput, error) {
	start := time.Now()
	by := order.Claimant{UserID: identityFrom(ctx).UserID, Number: in.Number}
	o, err := a.cfg.Claims.Claim(ctx, by, in.ID.n)
	problem := a.problem(ctx, claimRoute, err)
	a.countClaim(time.Since(start), problem)
	if problem != nil {
		return nil, problem
	}
	return &createdOrderOutput{location(o), newOrder(o)}, nil
}

// countClaim counts a claim that ended with problem, or with an order if it is nil.
func (a *API) countClaim(took time.Duration, problem *Problem) {
	verdict, class := made, made
	if problem != nil {
		verdict, class = problem.Code, "refused"
		switch {
		case problem == cancelled:
			class = "cancelled"
		case problem.Status >= 500 && problem != overloaded:
			class = "failed"
		}
	}
	a.metrics.Claimed(verdict, class, took)
}

const made = "made"

// claimCodes returns the verdicts by which claims are counted.
func claimCodes() []string {
	codes := []string{made}
	for _, p := range slices.Concat(claimVerdicts, []*Problem{unavailable, overloaded, internal, cancelled}) {
		codes = append(codes, p.Code)
	}
	return codes
}

func location(o order.Order) string { return "/orders/" + strconv.FormatInt(o.ID, 10) }
