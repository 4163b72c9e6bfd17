package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
)

// verdicts is the one table: what the domain says, and how HTTP says it. What
// is not in it is a 500 whose cause stays in the log.
var verdicts = []struct {
	err     error
	problem *Problem
}{
	{auth.ErrNoToken, unauthorized},
	{auth.ErrInvalidToken, badToken},
	{coupon.ErrSoldOut, refusal(409, "sold_out", "All of this coupon are gone.")},
	{order.ErrAlreadyClaimed, refusal(409, "already_claimed", "You already have this coupon.")},
	{order.ErrClaimInProgress, retry(refusal(409, "claim_in_progress", "Another claim that excludes yours is still running; yours was not made."))},
	{coupon.ErrNotStarted, refusal(409, "not_started", "The sale has not begun.")},
	{coupon.ErrEnded, refusal(409, "ended", "The sale is over.")},
	{coupon.ErrNotFound, refusal(404, "coupon_not_found", "There is no such coupon.")},
	{coupon.ErrInvalid, invalid()}, // an *InvalidError names the field
	{order.ErrNotFound, refusal(404, "order_not_found", "You have no such order.")},
	{order.ErrUnavailable, unavailable},
	{lock.ErrLocked, unavailable}, // whatever it guards, it was not claimed
	{lock.ErrLost, unavailable},
	{lock.ErrReleased, unavailable},
	{lock.ErrClosed, unavailable},
	{lock.ErrInvalid, internal},
	{lock.ErrReentry, internal}, // a mistake of ours
	{context.DeadlineExceeded, unavailable},
	{context.Canceled, unavailable}, // the client hung up; nobody will read it
}

// Answers that have no sentinel behind them.
var (
	unavailable  = retry(refusal(503, "unavailable", "Not possible at the moment. Your claim may or may not have been made; asking again is safe."))
	internal     = refusal(500, "internal", "Something went wrong here.")
	tooLarge     = refusal(413, "body_too_large", fmt.Sprintf("The request body is larger than %d bytes.", maxBody))
	noRoute      = refusal(404, "route_not_found", "There is nothing at this path.")
	wrongMethod  = refusal(405, "method_not_allowed", "This path does not have this method.")
	unauthorized = challenge(refusal(401, "unauthorized", "A bearer token is needed."), `Bearer realm="flashsale"`)
	badToken     = challenge(refusal(401, "invalid_token", "The bearer token is not valid, or no longer."), `Bearer realm="flashsale", error="invalid_token"`)
	forbidden    = refusal(403, "forbidden", "This needs the admin role.")
)

// A Problem is an answer that is not a success, as RFC 9457 has it.
type Problem struct {
	Type      string     `json:"type" example:"about:blank"`
	Title     string     `json:"title" example:"Conflict" doc:"What the status means"`
	Status    int        `json:"status" example:"409"`
	Code      string     `json:"code" example:"sold_out" doc:"Stable, for programs"`
	Detail    string     `json:"detail,omitempty" doc:"For people"`
	BeginTime *time.Time `json:"begin_time,omitempty" doc:"With not_started: when the sale begins"`
	OrderID   *ID        `json:"order_id,omitempty" doc:"With already_claimed: the order that you have"`
	Errors    []BadField `json:"errors,omitempty" doc:"With invalid_input: one entry for each field"`

	header  http.Header
	encoded []byte
}

// A BadField says what is wrong with one part of the request.
type BadField struct {
	In      string `json:"in" example:"body" doc:"body, path or query"`
	Field   string `json:"field,omitempty" example:"stock" doc:"Absent if it is the whole"`
	Message string `json:"message"`
}

func refusal(status int, code, detail string) *Problem {
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
	p.encoded, _ = encode(p)
	return p
}

func retry(p *Problem) *Problem {
	p.header = http.Header{"Retry-After": {"1"}}
	return p
}

func challenge(p *Problem, scheme string) *Problem {
	p.header = http.Header{"Www-Authenticate": {scheme}}
	return p
}

// Error implements error.
func (p *Problem) Error() string { return p.Code }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// write answers where huma is not at hand.
func (p *Problem) write(w http.ResponseWriter) {
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	b, _ := encode(p)
	_, _ = w.Write(b)
}

// answer turns any error of an operation into its problem, and logs it if
// nobody expected it.
func (a *API) answer(ctx context.Context, route string, err error) *Problem {
	p := problemOf(err)
	switch {
	case p == internal:
		a.Log.ErrorContext(ctx, "unexpected error", "route", route, "error", err.Error())
	case p == unavailable && !errors.Is(err, context.Canceled):
		a.complain(ctx, route, err)
	}
	return p
}

// complain logs at most one missing server a second: when one is away, every
// request says so.
func (a *API) complain(ctx context.Context, route string, err error) {
	now, last := time.Now().Unix(), a.quiet.Load()
	if now != last && a.quiet.CompareAndSwap(last, now) {
		a.Log.WarnContext(ctx, "unavailable", "route", route, "error", err.Error())
	}
}

func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if bad, ok := errors.AsType[*coupon.InvalidError](err); ok {
		return invalid(BadField{"body", bad.Field, bad.Message})
	}
	for _, v := range verdicts {
		if errors.Is(err, v.err) {
			return detailed(v.problem, err)
		}
	}
	if connect.IsUnavailable(err) {
		return unavailable
	}
	return internal
}

// detailed adds what a typed verdict carries.
func detailed(p *Problem, err error) *Problem {
	if early, ok := errors.AsType[*coupon.NotStartedError](err); ok {
		more := *p
		more.BeginTime, more.encoded = &early.BeginTime, nil
		return &more
	}
	if again, ok := errors.AsType[*order.AlreadyClaimedError](err); ok {
		more := *p
		more.OrderID, more.encoded = &ID{again.OrderID}, nil
		return &more
	}
	return p
}

func invalid(fields ...BadField) *Problem {
	p := refusal(422, "invalid_input", "The request has fields that are not as they should be.")
	p.Errors, p.encoded = fields, nil
	return p
}

// huma has one seam for the errors that it finds itself, and it is a global.
func init() { huma.NewError = fromHuma }

func fromHuma(status int, _ string, causes ...error) huma.StatusError {
	switch status {
	case 413:
		return tooLarge
	case 415:
		return refusal(415, "unsupported_media_type", "The body must be application/json.")
	case 422:
		return invalid(fieldsOf(causes)...)
	case 400:
		p := refusal(400, "invalid_json", "The request body must be a JSON document.")
		p.Errors, p.encoded = fieldsOf(causes), nil
		return p
	case 408:
		return refusal(408, "body_too_slow", "The request body did not arrive in time.")
	}
	return internal
}

// fieldsOf leaves out the values: they may be as large as the whole body.
func fieldsOf(causes []error) []BadField {
	fields := make([]BadField, 0, len(causes))
	for _, cause := range causes {
		d, ok := errors.AsType[*huma.ErrorDetail](cause)
		if !ok {
			continue
		}
		in, field, _ := strings.Cut(d.Location, ".")
		if field == "" { // reported on the parent
			_, _ = fmt.Sscanf(d.Message, validation.MsgExpectedRequiredProperty, &field)
			_, _ = fmt.Sscanf(d.Message, msgPlainDigits, &field)
		}
		fields = append(fields, BadField{in, field, d.Message})
	}
	return fields
}
