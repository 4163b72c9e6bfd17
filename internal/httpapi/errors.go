package httpapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/order"
)

// problems is the one table that maps the errors of other packages to problems.
// An error that is not in it is unavailable if connect says so, because what may have
// had an effect is in it, and internal otherwise: its cause is logged but not sent.
var problems = []struct {
	err     error
	problem *Problem
}{
	{auth.ErrNoToken, unauthorized},
	{auth.ErrInvalidToken, invalidToken},
	{coupon.ErrSoldOut, soldOut},
	{order.ErrAlreadyClaimed, alreadyClaimed},
	{order.ErrLimitReached, limitReached},
	{order.ErrClaimInProgress, claimInProgress},
	{order.ErrUsed, alreadyUsed},
	{order.ErrReturned, orderReturned},
	{order.ErrExpired, orderExpired},
	{order.ErrNotReturnable, notReturnable},
	{coupon.ErrNotStarted, notStarted},
	{coupon.ErrEnded, ended},
	{coupon.ErrNotFound, couponNotFound},
	{coupon.ErrStockLimit, stockLimit},
	{coupon.ErrInvalid, invalidInput},
	{coupon.ErrKeyReused, keyReused},
	{coupon.ErrKeyInProgress, keyInProgress},
	{coupon.ErrUnknown, changeUnknown},
	{coupon.ErrUnknownWithKey, changeUnknownWithKey},
	{coupon.ErrNoRules, rulesNotAllowed},
	{coupon.ErrIDTaken, unavailable}, // Redis has lost its last writes: the next id is another one
	{order.ErrNotFound, orderNotFound},
	{admission.ErrOverloaded, overloaded},
	{order.ErrUnavailable, claimUnknown},
	{order.ErrOutcomeUnknown, orderUnknown},
	{idgen.ErrExhausted, unavailable}, // perhaps by a clock that is wrong
}

// claimVerdicts are the refusals of a claim. Other problems say that it was not
// processed, or that its outcome is unknown. changeProblems are those of every change.
var (
	claimVerdicts = []*Problem{couponNotFound, soldOut, alreadyClaimed, limitReached, claimInProgress, notStarted,
		ended}
	changeProblems = []*Problem{keyReused, keyInProgress, changeUnknown, changeUnknownWithKey}
)

// All problems. The OpenAPI document lists them with the operations that reply
// with them.
var (
	soldOut         = newProblem(409, "sold_out", "This coupon is sold out.")
	alreadyClaimed  = newProblem(409, "already_claimed", "You already have an order of this number for this coupon.")
	limitReached    = newProblem(409, "limit_reached", "The coupon does not give a user so many orders.")
	claimInProgress = withRetry(newProblem(409, "claim_in_progress",
		"Another claim is in progress, so this one was not made. Try again."))
	notStarted    = newProblem(409, "not_started", "The sale has not started.")
	ended         = newProblem(409, "ended", "The sale has ended.")
	alreadyUsed   = newProblem(409, "already_used", "The order has been used.")
	orderReturned = newProblem(409, "order_returned", "The order has been returned.")
	orderExpired  = newProblem(409, "order_expired", "The order has expired.")
	notReturnable = newProblem(409, "not_returnable", "Orders of this coupon cannot be returned.")
	stockLimit    = newProblem(409, "stock_limit",
		fmt.Sprintf("No more than %d units of a coupon can be put on sale.", coupon.MaxStock))
	rulesNotAllowed = newProblem(409, "rules_not_allowed",
		`Older versions may be running. When none is, an operator runs the command "api migrate rules".`)
	couponNotFound = newProblem(404, "coupon_not_found", "There is no such coupon.")
	orderNotFound  = newProblem(404, "order_not_found", "There is no such order.")

	invalidInput   = newProblem(422, "invalid_input", "The request is not valid.")
	invalidJSON    = newProblem(400, "invalid_json", "The request body must be a JSON document.")
	incompleteBody = newProblem(400, "incomplete_body",
		"The request body ended early or is not framed as HTTP requires.")
	bodyTooSlow = newProblem(408, "body_too_slow", "The request body did not arrive in time.")
	tooLarge    = newProblem(413, "body_too_large",
		fmt.Sprintf("The request body is larger than %d bytes.", maxBody))
	noBody           = newProblem(413, tooLarge.Code, "This operation has no body. Send none, or Content-Length: 0.")
	unsupportedMedia = withHeader(newProblem(415, "unsupported_media_type",
		"The body must be application/json and must not be compressed."), "Accept-Encoding", "identity")

	// nginx sends these; net/http itself refuses such requests in plain text
	badRequest      = newProblem(400, "bad_request", "The request line or a header is malformed.")
	uriTooLong      = newProblem(414, "uri_too_long", "The request line is too long.")
	headersTooLarge = newProblem(431, "headers_too_large", "The headers are too long.")
	notImplemented  = newProblem(501, "not_implemented", "This Transfer-Encoding is not supported.")
	wrongVersion    = newProblem(505, "http_version_not_supported", "This version of HTTP is not supported.")

	unauthorized = withHeader(newProblem(401, "unauthorized", "A bearer token is required."), "Www-Authenticate",
		`Bearer realm="flashsale"`)
	invalidToken = withHeader(newProblem(401, "invalid_token", "The bearer token is invalid or has expired."),
		"Www-Authenticate", `Bearer realm="flashsale", error="invalid_token"`)
	rateLimited = withRetry(newProblem(429, "rate_limited", "Too many requests. Try again later, and less often."))
	forbidden   = newProblem(403, "forbidden", "This operation requires another role.")
	noRoute     = newProblem(404, "route_not_found", "There is nothing at this path.")
	wrongMethod = newProblem(405, "method_not_allowed", "This path does not support this method.")

	// one code, and what is true of the operation: deploy/nginx/problems.conf says the same
	unavailable = withRetry(newProblem(503, "unavailable",
		"The service is temporarily unavailable. Nothing was changed; repeat the request."))
	claimUnknown = withRetry(newProblem(503, "unavailable",
		"The service is temporarily unavailable. The claim may have succeeded; it is safe to repeat it."))
	orderUnknown = withRetry(newProblem(503, "unavailable",
		"The service is temporarily unavailable. The order may have been changed; it is safe to repeat the request."))
	changeUnknown = newProblem(503, "unavailable", "The service is temporarily unavailable. "+
		"The change may have been made: look at GET /changes before you repeat it.")
	changeUnknownWithKey = withRetry(newProblem(503, "unavailable", "The service is temporarily unavailable. "+
		"The change may have been made; it is safe to repeat it with the same Idempotency-Key."))
	keyReused     = newProblem(422, "idempotency_key_reused", "This Idempotency-Key was sent with another request.")
	keyInProgress = withRetry(newProblem(409, "idempotency_key_in_progress",
		"A request with this Idempotency-Key is in progress. Repeat this one later."))

	notTried = withRetry(newProblem(502, "unavailable",
		"The service is temporarily unavailable here. It did not process this request; try again."))
	overloaded = withRetry(newProblem(503, "overloaded",
		"The service has too many requests. It did not process this one; try again."))
	internal = newProblem(500, "internal", "Internal error.")
	// nginx's status; the client does not see it
	cancelled = &Problem{Type: "about:blank", Title: "Client Closed Request", Status: 499, Code: "cancelled"}
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
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	p := problemOf(err)
	switch {
	case p.Code == unavailable.Code && errors.Is(ctx.Err(), context.Canceled):
		return cancelled
	case p.Code == unavailable.Code:
		a.outage.Do(func() {
			a.cfg.Log.WarnContext(ctx, "unavailable", "route", route, "error", err.Error())
		})
		if !a.unready.Load() {
			select {
			case a.suspect <- struct{}{}:
			default:
			}
		}
	case p == internal:
		a.cfg.Log.ErrorContext(ctx, "unexpected error", "route", route, "error", err.Error())
	}
	return p
}

// logInterval is the least time between two log entries of unavailable requests, or of invalid
// tokens: while a server is unavailable, or a setting is wrong, every request fails.
const logInterval = 10 * time.Second

// problemOf returns the problem for an error of another package.
func problemOf(err error) *Problem {
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
	} else if limit, ok := errors.AsType[*order.LimitReachedError](err); ok {
		detailed.PerUser = limit.PerUser
	} else if used, ok := errors.AsType[*order.UsedError](err); ok {
		detailed.UsedAt = &used.At
	} else if other, ok := errors.AsType[*order.ClaimInProgressError](err); ok {
		detailed.header = http.Header{"Retry-After": {strconv.Itoa(int(math.Ceil(other.Left.Seconds())))}}
	} else if bad, ok := errors.AsType[*coupon.InvalidError](err); ok {
		return withFields(p, BadField{"body", bad.Field, bad.Message})
	} else {
		return p
	}
	return &detailed
}
