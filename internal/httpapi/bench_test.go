package httpapi

import (
	"context"
	"net/http"
	"testing"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
)

// BenchmarkClaimRoute makes claims without storing orders.
func BenchmarkClaimRoute(b *testing.B) {
	f := newFixture(b)
	id := f.createCouponFrom(b, -time.Hour, 24*time.Hour, 1)
	f.storeNothing(b)
	r := claimRequest(id, userToken(b, 42))
	r.Body = http.NoBody
	b.ReportAllocs()
	report := labtest.MeasureCPU(b)
	for range b.N {
		w := &discardWriter{header: http.Header{}}
		if f.API.ServeHTTP(w, r); w.status != 201 {
			b.Fatalf("status %d, want 201", w.status)
		}
	}
	report()
}

// storeNothing makes f accept every claim without a transaction.
func (f *fixture) storeNothing(tb testing.TB) {
	tb.Helper()
	claims, err := order.New(order.Config{
		Coupons: f.cfg.Cache, Winners: noWinners{}, Committer: noCommitter{}, Scope: order.PerUser,
		IDs: idgen.New(labtest.Dial(tb, labtest.Redis(tb)), "order"), Locks: lock.New(lock.None()),
		Wait: time.Second,
	})
	if err != nil {
		tb.Fatal(err)
	}
	f.cfg.Claims = claims
}

type noCommitter struct{}

func (noCommitter) Commit(context.Context, order.Segment, order.Order) error { return nil }
func (noCommitter) Close()                                                   {}

type noWinners struct{}

func (noWinners) Find(coupon.Coupon, order.Claimant) (int64, bool) { return 0, false }
func (noWinners) Add(coupon.Coupon, order.Claimant, int64)         {}
func (noWinners) Close()                                           {}
func (noWinners) CheckSoldOut(context.Context, coupon.Coupon, order.Claimant) (order.Precheck, error) {
	return order.PrecheckLookup, coupon.ErrSoldOut
}

// A discardWriter is a response of which only the status is kept.
type discardWriter struct {
	header http.Header
	status int
}

func (w *discardWriter) Header() http.Header         { return w.header }
func (w *discardWriter) WriteHeader(status int)      { w.status = status }
func (w *discardWriter) Write(b []byte) (int, error) { return len(b), nil }
