package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/settings"
)

// BenchmarkClaim measures a winning claim as shipped, without net/http and the
// network to the client: 128 clients at a time, each user once.
func BenchmarkClaim(b *testing.B) {
	env := environ(b, nil)
	cfg, err := settings.From(from(env))
	check.NoError(b, err)
	s, err := open(cfg, slog.New(slog.DiscardHandler))
	check.NoError(b, err)
	b.Cleanup(s.close)
	path := "/coupons/" + start(b, env).ready(b).createCoupon(b, 1_000_000) + "/orders"
	tokens := make([]string, b.N)
	for i := range tokens {
		tokens[i] = "Bearer " + tokenFor(b, int64(i+1), auth.RoleUser)
	}
	var next atomic.Int64
	b.SetParallelism(64)
	b.ReportAllocs()
	report := labtest.MeasureCPU(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := &http.Request{
				Method: "POST", URL: &url.URL{Path: path}, Body: http.NoBody,
				Header: http.Header{"Authorization": {tokens[next.Add(1)-1]}},
			}
			w := httptest.NewRecorder()
			if s.handler.ServeHTTP(w, r); w.Code != 201 {
				b.Errorf("status %d: %s", w.Code, w.Body)
			}
		}
	})
	report()
}
