package httpapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
)

// problems is the one table that maps the errors of other packages to problems.
// An error that is not in it is unavailable if connect says so, and internal
// otherwise: its cause is logged but not sent.
var problems = []struct {
	err     error
	problem *Problem
}{
	{auth.ErrNoToken, unauthorized},
	{auth.ErrInvalidToken, invalidToken},
	{coupon.ErrSoldOut, newProblem(409, "sold_out", "This coupon is sold out.")},
	{order.ErrAlreadyClaimed, newProblem(409, "already_claimed", "You already have an order for this coupon.")},
	{order.ErrClaimInProgress, withRetry(newProblem(409, "claim_in_progress", "Another claim is in progress, so this one was not made. Try again."))},
	{coupon.ErrNotStarted, newProblem(409, "not_started", "The sale has not started.")},
	{coupon.ErrEnded, newProblem(409, "ended", "The sale has ended.")},
	{coupon.ErrNotFound, newProblem(404, "coupon_not_found", "There is no such coupon.")},
	{coupon.ErrInvalid, invalid()},
	{order.ErrNotFound, newProblem(404, "order_not_found", "There is no such order.")},
	{order.ErrUnavailable, unavailable},
}

// Problems that stand for no error of another package, or for several.
var (
	unavailable  = withRetry(newProblem(503, "unavailable", "The service is temporarily unavailable. A claim may have succeeded; it is safe to repeat it."))
	cancelled    = &Problem{Type: "about:blank", Title: "Client Closed Request", Status: 499, Code: "cancelled"} // nginx's status; the client does not see it
	internal     = newProblem(500, "internal", "Internal error.")
	tooLarge     = newProblem(413, "body_too_large", fmt.Sprintf("The request body is larger than %d bytes.", maxBody))
	noRoute      = newProblem(404, "route_not_found", "There is nothing at this path.")
	wrongMethod  = newProblem(405, "method_not_allowed", "This path does not support this method.")
	unauthorized = withHeader(newProblem(401, "unauthorized", "A bearer token is required."), "Www-Authenticate", `Bearer realm="flashsale"`)
	invalidToken = withHeader(newProblem(401, "invalid_token", "The bearer token is invalid or has expired."), "Www-Authenticate", `Bearer realm="flashsale", error="invalid_token"`)
	rateLimited  = withRetry(newProblem(429, "rate_limited", "Too many requests. Try again later, and less often."))
	forbidden    = newProblem(403, "forbidden", "This operation requires the admin role.")
)

func withRetry(p *Problem) *Problem { return withHeader(p, "Retry-After", "1") }

// problem returns the problem for the error of an operation, or nil if err is
// nil. It logs errors that operators must know of.
//
// If ctx is cancelled, the client has closed the connection. An operation that
// is then unavailable was cancelled: no response can be delivered, and the cause
// need not be a server. A proxy that times out counts as the client, so its
// timeout must be longer than Config.Timeout.
func (a *API) problem(ctx context.Context, route string, err error) *Problem {
	if err == nil {
		return nil
	}
	p := problemOf(err)
	switch {
	case p == unavailable && errors.Is(ctx.Err(), context.Canceled):
		return cancelled
	case p == unavailable:
		a.logUnavailable(ctx, route, err)
	case p == internal:
		a.cfg.Log.ErrorContext(ctx, "unexpected error", "route", route, "error", err.Error())
	}
	return p
}

// logUnavailable logs err, but at most one such error per second: while a server
// is unavailable, every request fails.
func (a *API) logUnavailable(ctx context.Context, route string, err error) {
	now, last := time.Now().Unix(), a.lastUnavailable.Load()
	if now != last && a.lastUnavailable.CompareAndSwap(last, now) {
		a.cfg.Log.WarnContext(ctx, "unavailable", "route", route, "error", err.Error())
	}
}

// problemOf returns the problem for any error.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	for _, row := range problems {
		if errors.Is(err, row.err) {
			return withDetails(row.problem, err)
		}
	}
	if connect.IsUnavailable(err) {
		return unavailable
	}
	return internal
}

// withDetails returns p with the members that typed errors carry.
func withDetails(p *Problem, err error) *Problem {
	detailed := *p
	if early, ok := errors.AsType[*coupon.NotStartedError](err); ok {
		detailed.BeginTime = &early.BeginTime
	} else if claimed, ok := errors.AsType[*order.AlreadyClaimedError](err); ok {
		detailed.OrderID = &ID{claimed.OrderID}
	} else if bad, ok := errors.AsType[*coupon.InvalidError](err); ok {
		detailed.Errors = []BadField{{"body", bad.Field, bad.Message}}
	} else {
		return p
	}
	return &detailed
}
