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

// claimsAtOnce bounds how many claims an instance works on. The others wait
// where a waiting goroutine is small: with thousands of connections most of
// the memory would be the stacks of claims that wait for the same commit.
const claimsAtOnce = 1024

// serveClaim answers the operation claim, as routes documents it, without the
// layers that find out at run time what it needs: it takes no body and one
// path parameter. In a burst they would cost as much as the claim itself.
func (a *API) serveClaim(w http.ResponseWriter, r *http.Request) {
	if a.phase.Load() == starting {
		unavailable.write(w)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.work())
	defer cancel()
	o, err := a.claimBy(ctx, r)
	if err != nil {
		a.answer(ctx, claimRoute, err).write(w)
		return
	}
	writeOrder(w, o)
}

// claimBy claims what r asks for.
func (a *API) claimBy(ctx context.Context, r *http.Request) (order.Order, error) {
	id, err := a.verifier.Authenticate(r.Header.Get("Authorization"))
	if err != nil {
		return order.Order{}, err
	}
	var couponID ID
	if err := couponID.UnmarshalText([]byte(chi.URLParam(r, "id"))); err != nil {
		return order.Order{}, invalid(BadField{"path", "id", err.Error()})
	}
	begun := time.Now()
	o, err := a.inPlace(ctx, id.UserID, couponID.n)
	a.metrics.claim(begun, err)
	return o, err
}

// inPlace claims when it is one of claimsAtOnce, or not at all.
func (a *API) inPlace(ctx context.Context, userID, couponID int64) (order.Order, error) {
	select {
	case a.places <- struct{}{}:
		defer func() { <-a.places }()
		return a.Claims.Claim(ctx, userID, couponID)
	case <-ctx.Done():
		return order.Order{}, context.Cause(ctx)
	}
}

// writeOrder writes what json.Marshal would make of Order.
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
