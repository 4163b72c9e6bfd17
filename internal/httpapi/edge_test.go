package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
)

func TestReadyOnlyWhileServing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.phase.Store(starting)
	if a := f.do("GET", "/readyz", "", ""); a.Code != 503 {
		t.Errorf("starting: %v", a)
	}
	wantProblem(t, f.do("GET", "/coupons", user(t, 42), ""), 503, "unavailable")
	f.Open()
	if a := f.do("GET", "/readyz", "", ""); a.Code != 200 || a.body["checks"].(map[string]any)["mysql"] != "ok" {
		t.Errorf("serving: %v", a)
	}
	f.Drain()
	f.Open() // too late
	if a := f.do("GET", "/readyz", "", ""); a.Code != 503 {
		t.Errorf("draining: %v", a)
	}
	if a := f.do("GET", "/coupons", user(t, 42), ""); a.Code != 200 || a.Header().Get("Connection") != "close" {
		t.Errorf("request while draining: %v", a)
	}
	if a := f.do("GET", "/livez", "", ""); a.Code != 200 {
		t.Errorf("livez: %v", a)
	}
}

func TestReadyzNamesWhoIsAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Probes = append(f.Probes,
		Probe{"redis", func(context.Context) error { return errors.New("dial tcp 10.0.0.7: refused") }},
		Probe{"hung", func(ctx context.Context) error {
			select {
			case <-ctx.Done():
			case <-time.After(10 * probeTimeout):
			}
			return context.Canceled
		}},
	)
	begun := time.Now()
	a := f.do("GET", "/readyz", "", "")
	if took := time.Since(begun); took > 5*probeTimeout {
		t.Errorf("readyz took %s", took)
	}
	checks, _ := a.body["checks"].(map[string]any)
	if a.Code != 503 || checks["mysql"] != "ok" || checks["redis"] != "away" || checks["hung"] != "away" {
		t.Errorf("got %v", a)
	}
	if strings.Contains(a.Body.String(), "10.0.0.7") {
		t.Errorf("readyz tells strangers addresses: %s", a.Body)
	}
}

func TestMetricsCount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.onSale(t, 1)
	f.claim(id, user(t, 42))
	f.claim(id, user(t, 43))
	f.claim(id, user(t, 44))
	f.do("GET", "/a-path-of-the-clients-own", "", "")
	f.do("BREW", "/coupons", "", "")
	text := f.do("GET", "/metrics", "", "").Body.String()
	for _, want := range []string{
		`flashsale_claims_total{verdict="made"} 1`,
		`flashsale_claims_total{verdict="sold_out"} 2`,
		`flashsale_claim_duration_seconds_count{class="made"} 1`,
		`flashsale_claim_duration_seconds_count{class="refused"} 2`,
		`http_requests_total{method="POST",route="/coupons/{id}/orders",status="409"} 2`,
		`http_requests_total{method="any",route="unmatched",status="404"} 1`,
		`http_requests_total{method="any",route="unmatched",status="405"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "BREW") || strings.Contains(text, "own") {
		t.Error("clients can make up label values")
	}
}

func TestOpenAPIHasEveryRouteOfTheSale(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var doc struct {
		OpenAPI    string
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct{ Required []string }
		}
	}
	if err := json.Unmarshal(f.do("GET", "/openapi.json", "", "").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("OpenAPI %s, want 3.1", doc.OpenAPI)
	}
	err := chi.Walk(f.handler.(chi.Routes), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(route, "/coupons") || strings.HasPrefix(route, "/orders") {
			if doc.Paths[route][strings.ToLower(method)] == nil {
				t.Errorf("%s %s is not documented", method, route)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if required := strings.Join(doc.Components.Schemas["Problem"].Required, " "); !strings.Contains(required, "code") {
		t.Errorf("problems need not have a code: %s", required)
	}
}

func TestDocsNeedNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if a := f.do("GET", "/docs", "", ""); a.Header().Get("Location") != "/docs/" {
		t.Errorf("/docs: %v", a)
	}
	page := f.do("GET", "/docs/", "", "")
	refs := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page.Body.String(), -1)
	if len(refs) < 3 || !strings.Contains(page.Body.String(), `"/openapi.json"`) {
		t.Fatalf("not the page: %v", page)
	}
	for _, ref := range refs {
		if a := f.do("GET", ref[1], "", ""); !strings.HasPrefix(ref[1], "/") || strings.HasPrefix(ref[1], "//") || a.Code != 200 {
			t.Errorf("%s: %d", ref[1], a.Code)
		}
	}
	if csp := page.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'self';") || strings.Contains(csp, "http") {
		t.Errorf("the page may load from elsewhere: %q", csp)
	}
}
