package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"example.com/flashsale/internal/order"
)

const claimRoute = "POST /coupons/{id}/orders"

// serveClaim serves the operation claim without huma, which inspects inputs and
// outputs at run time. That saves 1.7 µs of a claim's 55 to 60
// (BenchmarkClaimRoute).
func (a *API) serveClaim(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		noBody.write(w)
		return
	}
	if !a.opened.Load() {
		unavailable.write(w)
		return
	}
	if a.refusesClaims(r) {
		a.metrics.claim(0, overloaded)
		overloaded.write(w)
		return
	}
	id, ok := a.authenticate(w, r)
	if !ok {
		return
	}
	o, problem := a.claimFor(id.UserID, r)
	if problem != nil {
		problem.write(w)
		return
	}
	w.Header().Set("Location", location(o))
	writeJSON(w, http.StatusCreated, newOrder(o))
}

// refusesClaims reports whether the coupon that r names has more claims than can
// be made. r is refused before its token is verified: the refusal has to cost much
// less than a claim.
func (a *API) refusesClaims(r *http.Request) bool {
	var couponID ID
	err := couponID.UnmarshalText([]byte(chi.URLParam(r, "id")))
	return err == nil && a.cfg.Claims.Overloaded(r.Context(), couponID.n)
}

// RefusesUnread reports whether a request whose header begins like this is a claim of a
// coupon that has more claims than can be made. If so, it has counted the claim: reply
// with Overloaded. A refusal that the server's HTTP code need not see costs a fourth.
func (a *API) RefusesUnread(header []byte) bool {
	path, isPost := bytes.CutPrefix(header, []byte("POST /coupons/"))
	number, isClaim, _ := bytes.Cut(path, []byte("/"))
	var couponID ID
	if !isPost || !bytes.HasPrefix(isClaim, []byte("orders HTTP/1.1\r\n")) || !a.opened.Load() ||
		couponID.UnmarshalText(number) != nil || !a.cfg.Claims.Overloaded(context.Background(), couponID.n) {
		return false
	}
	a.metrics.claim(0, overloaded)
	return true
}

// claimFor makes the claim that the user requests by r.
func (a *API) claimFor(userID int64, r *http.Request) (order.Order, *Problem) {
	var couponID ID
	if err := couponID.UnmarshalText([]byte(chi.URLParam(r, "id"))); err != nil {
		return order.Order{}, withFields(invalidInput, BadField{"path", "id", err.Error()})
	}
	ctx, cancel := a.withDeadline(r.Context())
	defer cancel()
	return a.countedClaim(ctx, userID, couponID.n)
}

// claim is the operation as huma would serve it. The OpenAPI document describes
// it, and the benchmark compares it with serveClaim.
func (a *API) claim(ctx context.Context, in *couponPath) (*createdOrderOutput, error) {
	o, problem := a.countedClaim(ctx, identityFrom(ctx).UserID, in.ID.n)
	if problem != nil {
		return nil, problem
	}
	return &createdOrderOutput{location(o), newOrder(o)}, nil
}

// countedClaim makes one claim and counts it by its verdict.
func (a *API) countedClaim(ctx context.Context, userID, couponID int64) (order.Order, *Problem) {
	start := time.Now()
	o, err := a.cfg.Claims.Claim(ctx, userID, couponID)
	problem := a.problem(ctx, claimRoute, err)
	a.metrics.claim(time.Since(start), problem)
	return o, problem
}

func location(o order.Order) string { return "/orders/" + strconv.FormatInt(o.ID, 10) }
