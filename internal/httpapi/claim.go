package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"example.com/flashsale/internal/order"
)

const claimRoute = "POST /coupons/{id}/orders"

// maxConcurrentClaims bounds the claims that an instance processes at a time.
// With thousands of connections, the stacks of claims that wait for the same
// commit would take most of the memory; here they wait on a small stack.
const maxConcurrentClaims = 1024

// serveClaim serves the operation that routes documents as claim. It bypasses
// huma, which inspects inputs and outputs at run time.
func (a *API) serveClaim(w http.ResponseWriter, r *http.Request) {
	if a.phase.Load() == starting {
		unavailable.write(w)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.workTimeout())
	defer cancel()
	o, err := a.claimFor(ctx, r)
	if err != nil {
		a.problem(ctx, claimRoute, err).write(w)
		return
	}
	writeOrder(w, o)
}

// claimFor makes the claim that r requests.
func (a *API) claimFor(ctx context.Context, r *http.Request) (order.Order, error) {
	id, err := a.cfg.Verifier.Authenticate(r.Header.Get("Authorization"))
	if err != nil {
		return order.Order{}, err
	}
	var couponID ID
	if err := couponID.UnmarshalText([]byte(chi.URLParam(r, "id"))); err != nil {
		return order.Order{}, invalid(BadField{"path", "id", err.Error()})
	}
	start := time.Now()
	o, err := a.withSlot(ctx, id.UserID, couponID.n)
	a.metrics.claim(start, err)
	return o, err
}

// withSlot makes one claim when a slot is free, or returns the cause of ctx.
func (a *API) withSlot(ctx context.Context, userID, couponID int64) (order.Order, error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
		return a.cfg.Claims.Claim(ctx, userID, couponID)
	case <-ctx.Done():
		return order.Order{}, context.Cause(ctx)
	}
}

// writeOrder writes o as json.Encoder would write an Order.
func writeOrder(w http.ResponseWriter, o order.Order) {
	b := make([]byte, 0, 160)
	b = append(b, `{"id":"`...)
	b = strconv.AppendInt(b, o.ID, 10)
	id := string(b[len(`{"id":"`):])
	b = append(b, `","coupon_id":"`...)
	b = strconv.AppendInt(b, o.CouponID, 10)
	b = append(b, `","user_id":"`...)
	b = strconv.AppendInt(b, o.UserID, 10)
	b = append(b, `","created_at":"`...)
	b = o.CreatedAt.AppendFormat(b, time.RFC3339Nano)
	b = append(b, "\"}\n"...)
	header := w.Header()
	header["Content-Type"] = []string{"application/json"}
	header["Location"] = []string{"/orders/" + id}
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(b)
}
