package httpapi

import (
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/admission/ratelimit"
	"example.com/flashsale/internal/auth"
)

// limited returns an open API that allows each user and each address burst
// requests, and hardly any more during a test.
func limited(tb testing.TB, burst int) *fixture {
	tb.Helper()
	f := newFixture(tb)
	c := f.cfg
	c.Metrics = prometheus.NewRegistry()
	c.Users, c.Addresses = ratelimit.New[int64](0.001, burst), ratelimit.New[netip.Prefix](0.001, burst)
	f.API = New(c)
	return f
}

func TestGreedyUserIsLimitedOnEveryRoute(t *testing.T) {
	t.Parallel()
	f := limited(t, 4)
	greedy, other := userToken(t, 42), userToken(t, 43)
	for range 2 {
		wantProblem(t, f.claim("7", greedy), 404, "coupon_not_found")
		wantStatus(t, f.do("GET", "/orders", greedy, ""), 200)
	}
	for _, r := range []response{f.claim("7", greedy), f.do("GET", "/orders", greedy, "")} {
		wantProblem(t, r, 429, "rate_limited")
		if r.Header().Get("Retry-After") == "" {
			t.Errorf("no Retry-After: %v", r)
		}
	}
	wantProblem(t, f.claim("7", other), 404, "coupon_not_found")
	f.wantMetric(t, `flashsale_rate_limited_total{limit="user"} 2`)
}

func TestStrangersAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	f := limited(t, 5)
	for _, r := range []struct {
		method, path, token string
		status              int
	}{
		{"GET", "/made-up-path", "", 404}, {"DELETE", "/coupons", "", 405}, {"GET", "/readyz", "", 200},
		{"GET", "/orders", "not.a.token", 401}, {"POST", "/coupons/7/orders", "", 401},
	} {
		if got := f.do(r.method, r.path, r.token, ""); got.Code != r.status {
			t.Errorf("within the limit: %v, want %d", got, r.status)
		}
	}
	for _, r := range []struct{ method, path, token string }{
		{"GET", "/made-up-path", ""}, {"DELETE", "/coupons", ""}, {"GET", "/readyz", ""}, {"GET", "/docs/", ""},
		{"GET", "/openapi.json", ""}, {"GET", "/orders", "not.a.token"}, {"POST", "/coupons/7/orders", "not.a.token"},
	} {
		wantProblem(t, f.do(r.method, r.path, r.token, ""), 429, "rate_limited")
	}
	wantProblem(t, f.claim("7", userToken(t, 42)), 404, "coupon_not_found") // a user behind the same address
	wantStatus(t, f.do("GET", "/livez", "", ""), 200)
	f.wantMetric(t, `flashsale_rate_limited_total{limit="address"} 7`)
}

// A client that forges X-Real-IP must neither escape its limit nor use up that
// of another address.
func TestOnlyTrustedProxiesNameTheClient(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		trusted    []string
		peer       string
		realIPs    []string
		wantLimits int // clients that are told apart
	}{
		"no proxy is trusted": {nil, "192.0.2.1:1000", []string{"198.51.100.1", "198.51.100.2"}, 1},
		"proxy that is trusted": {[]string{"192.0.2.0/24"}, "192.0.2.1:1000",
			[]string{"198.51.100.1", "198.51.100.2"}, 2},
		"client that bypasses the proxy": {[]string{"10.0.0.0/8"}, "192.0.2.1:1000",
			[]string{"198.51.100.1", "198.51.100.2"}, 1},
		"addresses of one customer's network": {[]string{"192.0.2.0/24"}, "192.0.2.1:1000",
			[]string{"2001:db8::1", "2001:db8::2"}, 1},
		"networks of two customers": {[]string{"192.0.2.0/24"}, "192.0.2.1:1000",
			[]string{"2001:db8::1", "2001:db8:0:1::1"}, 2},
		"Unix socket, which has no address": {nil, "@", []string{"198.51.100.1", "198.51.100.2"}, 1},
		"IPv4 addresses in the form of IPv6": {[]string{"192.0.2.0/24"}, "192.0.2.1:1000",
			[]string{"::ffff:198.51.100.1", "::ffff:198.51.100.2"}, 2},
		"what is no address, of a proxy's own": {[]string{"192.0.2.0/24"}, "192.0.2.1:1000",
			[]string{"unknown", ""}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Config{Metrics: prometheus.NewRegistry(), Addresses: ratelimit.New[netip.Prefix](0.001, 1)}
			for _, p := range test.trusted {
				c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix(p))
			}
			a, limits := New(c), 0
			for _, ip := range test.realIPs {
				r := httptest.NewRequest("GET", "/made-up-path", nil)
				r.RemoteAddr = test.peer
				r.Header.Set("X-Real-IP", ip)
				w := httptest.NewRecorder()
				if a.ServeHTTP(w, r); w.Code == 404 {
					limits++
				}
			}
			if limits != test.wantLimits {
				t.Errorf("%d clients, want %d", limits, test.wantLimits)
			}
		})
	}
}

// A client on many connections that repeats its requests without a pause gets few refusals a second,
// and costs as little. But refusals that wait leave half of the connections for claims, and a
// stranger, who may hold the place of a claim at nginx, waits for nothing.
func TestRefusalsOfUsersAreSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const connections, clients = 100, 60
		a := New(Config{
			Connections: connections, Metrics: prometheus.NewRegistry(),
			Verifier:  auth.NewVerifier(auth.Config{Secrets: []auth.Secret{{Key: secret}}}),
			Users:     ratelimit.New[int64](0.001, 1),
			Addresses: ratelimit.New[netip.Prefix](0.001, 1),
		})
		user := userToken(t, 42)
		ask := func(token string) (status int, took time.Duration) {
			begin, w := time.Now(), httptest.NewRecorder()
			a.ServeHTTP(w, request("GET", "/orders?limit=0", token, "", ""))
			return w.Code, time.Since(begin)
		}
		for _, step := range []struct {
			token  string
			status int
		}{{user, 422}, {"", 401}, {"", 429}, {"", 429}} {
			if status, took := ask(step.token); status != step.status || took != 0 {
				t.Errorf("got %d after %s, want %d at once", status, took, step.status)
			}
		}
		var refused sync.WaitGroup
		var slow atomic.Int64
		for range clients {
			refused.Go(func() {
				status, took := ask(user)
				if took >= refusalDelay && took <= 2*refusalDelay {
					slow.Add(1)
				} else if took != 0 || status != 429 {
					t.Errorf("got %d after %s", status, took)
				}
			})
		}
		refused.Wait()
		if n := slow.Load(); n != connections/2 {
			t.Errorf("%d refusals waited, want %d", n, connections/2)
		}
	})
	for connections, want := range map[int]int{1: 0, 1 << 20: maxDelayed} {
		if got := cap(New(Config{Connections: connections, Metrics: prometheus.NewRegistry()}).delayed); got != want {
			t.Errorf("%d of %d connections may have a refusal that waits, want %d", got, connections, want)
		}
	}
}
