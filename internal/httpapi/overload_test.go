package httpapi

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/check"
)

// overloading is how many claims overload's coupon has no slot for.
const overloading = 20

// overload returns a coupon that more users claim than can be served: its row is
// locked until the test ends. refused is how many of them have been told so.
func (f *fixture) overload(t *testing.T) (couponID string, refused *atomic.Int64) {
	t.Helper()
	c := f.cfg
	c.Metrics, c.Timeout = prometheus.NewRegistry(), admission.Timeout(time.Minute)
	f.API = New(c)
	const users = running/2 + overloading
	id := f.createCoupon(t, 2*users)
	var number ID
	check.NoError(t, number.UnmarshalText([]byte(id)))
	tx := f.db.MustBegin()
	tx.MustExec(`SELECT id FROM coupons WHERE id = ? FOR UPDATE`, id)
	var claims sync.WaitGroup
	refused = new(atomic.Int64)
	t.Cleanup(func() {
		_ = tx.Rollback()
		claims.Wait()
	})
	for user := range users {
		claims.Go(func() {
			r := f.claim(id, userToken(t, int64(1000+user)))
			for r.body["code"] == "unavailable" && t.Context().Err() == nil { // as on a busy machine
				r = f.claim(id, userToken(t, int64(1000+user)))
			}
			if r.body["code"] == "overloaded" {
				refused.Add(1)
			}
		})
	}
	check.Eventually(t, "the coupon is overloaded",
		func() bool { return f.cfg.Claims.Overloaded(number.n) })
	return id, refused
}

func TestOverloadedCouponIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	user := userToken(t, 42)
	soldOut, other := f.createCoupon(t, 0), f.createCoupon(t, 1)
	overloaded, refused := f.overload(t)
	for _, token := range []string{user, "garbage"} { // before the token is verified
		begin := time.Now()
		r := f.claim(overloaded, token)
		wantProblem(t, r, 503, "overloaded")
		if r.Header().Get("Retry-After") == "" {
			t.Errorf("no Retry-After: %v", r)
		}
		if took := time.Since(begin); took > 10*time.Second { // a claim that waits does so for a minute
			t.Errorf("refused after %s", took)
		}
	}
	wantProblem(t, f.claim(soldOut, user), 409, "sold_out")
	wantStatus(t, f.claim(other, user), 201)
	wantProblem(t, f.claim(other, user), 409, "already_claimed")
	check.Eventually(t, "all who were told so are counted", func() bool {
		n := refused.Load() // of the others, some may still wait
		return n > 0 && f.hasMetric(fmt.Sprintf(`flashsale_claims_total{verdict="overloaded"} %d`, n+2))
	})
}
