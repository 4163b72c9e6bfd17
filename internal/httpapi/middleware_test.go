package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/check"
)

func TestReadyOnlyWhileServing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	check.Eventually(t, "it is ready", func() bool { // MySQL may be later than the probe waits
		r := f.do("GET", "/readyz", "", "")
		return r.Code == 200 && r.body["checks"].(map[string]any)["mysql"] == "ok"
	})
	f.Drain()
	wantStatus(t, f.do("GET", "/readyz", "", ""), 503)
	if r := f.do("GET", "/coupons", userToken(t, 42), ""); r.Code != 200 || r.Header().Get("Connection") != "close" {
		t.Errorf("request while draining: %v", r)
	}
	wantStatus(t, f.do("GET", "/livez", "", ""), 200)
}

func TestReadyzNamesUnavailableServers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cfg.Probes = append(f.cfg.Probes,
		Probe{"redis", func(context.Context) error { return errors.New("dial tcp 10.0.0.7: refused") }},
		Probe{"hung", func(ctx context.Context) error {
			select {
			case <-ctx.Done():
			case <-time.After(10 * probeTimeout):
			}
			return context.Canceled
		}},
	)
	var r response
	var checks map[string]any
	check.Eventually(t, "MySQL replies in time", func() bool {
		start := time.Now()
		r = f.do("GET", "/readyz", "", "")
		if took := time.Since(start); took > 5*probeTimeout {
			t.Errorf("readyz took %s", took)
		}
		checks, _ = r.body["checks"].(map[string]any)
		return checks["mysql"] == "ok"
	})
	if r.Code != 503 || checks["redis"] != "unavailable" || checks["hung"] != "unavailable" {
		t.Errorf("got %v", r)
	}
	if strings.Contains(r.Body.String(), "10.0.0.7") {
		t.Errorf("readyz reveals addresses: %s", r.Body)
	}
}

// Each run of the probes takes probeTimeout while a server is silent.
func TestRequestsForReadyzShareARunOfTheProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		a := New(Config{Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), Probes: []Probe{
			{"silent", func(ctx context.Context) error { runs++; <-ctx.Done(); return ctx.Err() }},
		}})
		check.AtOnce(100, func(int) {
			if a.Ready(t.Context()) {
				t.Error("ready without a server")
			}
		})
		if runs > 2 {
			t.Errorf("100 requests at once had %d runs, want the first and one for the others", runs)
		}
	})
}

func TestMetricsCountClaimsAndResponses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 1)
	f.claim(id, userToken(t, 42))
	f.claim(id, userToken(t, 43))
	f.claim(id, userToken(t, 44))
	f.do("GET", "/made-up-path", "", "")
	f.do("BREW", "/coupons", "", "")
	f.do("HEAD", "/docs/swagger-ui.css", "", "")
	text := f.do("GET", "/metrics", "", "").Body.String()
	for _, want := range []string{
		`flashsale_claims_total{verdict="made"} 1`,
		`flashsale_claims_total{verdict="sold_out"} 2`,
		`flashsale_claim_duration_seconds_count{class="made"} 1`,
		`flashsale_claim_duration_seconds_count{class="refused"} 2`,
		`http_requests_total{method="POST",route="/coupons/{id}/orders",status="409"} 2`,
		`http_requests_total{method="any",route="unmatched",status="404"} 1`,
		`http_requests_total{method="any",route="unmatched",status="405"} 1`,
		`http_requests_total{method="HEAD",route="/docs/swagger-ui.css",status="200"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "BREW") || strings.Contains(text, "made-up") {
		t.Error("clients can create label values")
	}
}
