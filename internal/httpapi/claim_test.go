package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
)

// wantMetric checks that /metrics soon has the line.
func (f *fixture) wantMetric(tb testing.TB, line string) {
	tb.Helper()
	check.Eventually(tb, line, func() bool { return f.hasMetric(line) })
}

func (f *fixture) hasMetric(line string) bool {
	return strings.Contains(f.do("GET", "/metrics", "", "").Body.String(), line+"\n")
}

func TestClaimsThatFailAreCountedAndLoggedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 1)
	_ = f.db.Close()
	for user := range int64(2) {
		wantProblem(t, f.claim(id, userToken(t, user+1)), 503, "unavailable")
	}
	f.wantMetric(t, `flashsale_claim_duration_seconds_count{class="failed"} 2`)
	if n := strings.Count(f.log.String(), "msg=unavailable"); n != 1 {
		t.Errorf("%d log entries, want 1: %s", n, f.log)
	}
}

// No setting of the service leads here.
func TestMistakeWithTheLockIsAnInternalError(t *testing.T) {
	t.Parallel()
	f := newFixtureOn(t, backend{lockTTL: time.Microsecond})
	wantProblem(t, f.claim(f.createCoupon(t, 1), userToken(t, 42)), 500, "internal")
	f.wantMetric(t, `flashsale_claims_total{verdict="internal"} 1`)
	if !strings.Contains(f.log.String(), "unexpected error") {
		t.Errorf("not logged: %s", f.log)
	}
}

// hangUp sends a request without a body to a real server, and closes the
// connection when the request has arrived and inProgress returns true.
func (f *fixture) hangUp(t *testing.T, r *http.Request, inProgress func() bool) {
	t.Helper()
	var arrived atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Store(true)
		f.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	check.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r = r.WithContext(ctx)
	r.Body = http.NoBody
	r.URL.Scheme, r.URL.Host, r.RequestURI = target.Scheme, target.Host, ""
	done := check.Begin(func() error { _, err := server.Client().Do(r); return err })
	check.Eventually(t, "the request is in progress", func() bool { return arrived.Load() && inProgress() })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the request: %v, want %v", err, context.Canceled)
	}
}

// executing reports whether MySQL executes a statement that contains text.
func (f *fixture) executing(t *testing.T, text string) bool {
	t.Helper()
	return labtest.Executing(t, f.db, "%"+text+"%") > 0
}

func TestClaimWhoseClientHangsUpIsCancelled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 1)
	tx := f.db.MustBegin()
	tx.MustExec("UPDATE coupons SET version = version + 1")
	f.hangUp(t, claimRequest(id, userToken(t, 42)), func() bool { return f.executing(t, "UPDATE coupons%SET stock") })
	f.wantMetric(t, `flashsale_claims_total{verdict="cancelled"} 1`)
	check.NoError(t, tx.Rollback())
	repeated := again(t, func() response { return f.claim(id, userToken(t, 42)) })
	wantProblem(t, repeated, 409, "already_claimed") // the order was made
	f.wantMetric(t, `flashsale_claims_total{verdict="cancelled"} 1`)
	f.wantMetric(t, `flashsale_claim_duration_seconds_count{class="cancelled"} 1`)
	f.wantMetric(t, `http_requests_total{method="POST",route="/coupons/{id}/orders",status="499"} 1`)
	f.wantMetric(t, `flashsale_claim_duration_seconds_count{class="failed"} 0`)
	if text := f.do("GET", "/metrics", "", "").Body.String(); strings.Contains(text, `status="5`) {
		t.Errorf("counted as a failure:\n%s", text)
	}
	if f.log.String() != "" {
		t.Errorf("logged: %s", f.log)
	}
}
