package httpapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

const shop = "https://shop.example"

// share replaces the API by one whose pages of the origins may use it.
func (f *fixture) share(origins ...string) {
	c := f.cfg
	c.CORSOrigins, c.Metrics = origins, prometheus.NewRegistry()
	f.API = New(c)
}

// ask sends a request of a page of the origin; of a preflight, for the method and the headers.
func (f *fixture) ask(method, path, origin, token, forMethod, forHeaders string) response {
	req := request(method, path, token, "", "")
	for name, value := range map[string]string{"Origin": origin,
		"Access-Control-Request-Method": forMethod, "Access-Control-Request-Headers": forHeaders} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	return f.record(req)
}

// record is send without the document, which does not have what CORS adds.
func (f *fixture) record(req *http.Request) response {
	r := response{ResponseRecorder: httptest.NewRecorder()}
	f.ServeHTTP(r, req)
	_ = json.Unmarshal(r.Body.Bytes(), &r.body)
	return r
}

func TestPreflightIsAnsweredBeforeAllElse(t *testing.T) {
	t.Parallel()
	f := limited(t, 1)
	_ = f.db.Close()
	const claim, own = "/coupons/7/orders", "authorization,content-type,idempotency-key"
	for _, test := range []struct {
		origins               []string
		path, origin          string
		forMethod, forHeaders string
		want                  string // Access-Control-Allow-Origin
	}{
		{[]string{shop, "http://localhost:5173"}, claim, shop, "POST", own, shop},
		{[]string{shop, "http://localhost:5173"}, "/coupons/7", "http://localhost:5173", "PATCH", "",
			"http://localhost:5173"},
		{[]string{"*"}, "/coupons", "https://any.example", "GET", own, "*"},
		{[]string{shop}, claim, "https://shop.example.evil.example", "POST", own, ""},
		{[]string{shop}, claim, "http://shop.example", "POST", own, ""},
		{[]string{shop}, claim, "https://shop.example:8443", "POST", own, ""},
		{[]string{shop}, claim, "null", "POST", own, ""},
		{[]string{shop}, claim, shop, "TRACE", "", ""},
		{[]string{shop}, claim, shop, "POST", "x-lab-claim", ""},
	} {
		f.share(test.origins...)
		for range 3 {
			r := f.ask("OPTIONS", test.path, test.origin, "", test.forMethod, test.forHeaders)
			h := r.Header()
			if r.Code != 200 || r.Body.Len() != 0 || h.Get("Access-Control-Allow-Origin") != test.want ||
				h.Get("Access-Control-Allow-Credentials") != "" || !slices.Contains(h.Values("Vary"), "Origin") {
				t.Errorf("%+v: %v", test, r)
			}
			if test.want != "" && (h.Get("Access-Control-Allow-Methods") != test.forMethod ||
				h.Get("Access-Control-Max-Age") != "600") {
				t.Errorf("%+v: %v", test, r)
			}
		}
	}
}

func TestPageOfAnAllowedOriginReadsEveryResponse(t *testing.T) {
	t.Parallel()
	f := limited(t, 12)
	id, user := f.createCoupon(t, 1), userToken(t, 42)
	f.share(shop)
	for _, test := range []struct {
		method, path, token string
		status              int
	}{
		{"GET", "/coupons", user, 200},
		{"HEAD", "/coupons", user, 200},
		{"POST", "/coupons/" + id + "/orders", user, 201},
		{"POST", "/coupons/" + id + "/orders", user, 409},
		{"POST", "/coupons/" + id + "/orders", "", 401},
		{"GET", "/made-up-path", "", 404},
		{"DELETE", "/coupons", "", 405},
		{"OPTIONS", "/coupons", "", 405}, // no preflight
	} {
		for _, origin := range []string{shop, "https://evil.example"} {
			if origin != shop && test.status == 201 {
				continue // the user has it already
			}
			r := f.ask(test.method, test.path, origin, test.token, "", "")
			wantShared(t, r, test.status, origin == shop)
		}
	}
	large := request("POST", "/coupons", adminToken(t), string(make([]byte, maxBody+1)), "application/json")
	large.Header.Set("Origin", shop)
	wantShared(t, f.record(large), 413, true)
	_ = f.db.Close()
	wantShared(t, f.ask("GET", "/readyz", shop, "", "", ""), 503, true)
	wantShared(t, f.ask("GET", "/coupons", shop, user, "", ""), 500, true)
	var refused response
	for range 13 {
		refused = f.ask("GET", "/made-up-path", shop, "", "", "")
	}
	wantShared(t, refused, 429, true)
	unread, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(f.Overloaded())), nil)
	if err != nil || unread.Header.Get("Access-Control-Allow-Origin") != "*" ||
		unread.Header.Get("Cache-Control") != "no-store" || unread.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("refused unread: %+v, %v", unread, err)
	}
	for _, path := range []string{"/metrics", "/docs/", "/docs/init.js"} { // of no other origin
		if h := f.ask("GET", path, shop, "", "", "").Header(); h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// wantShared checks the status of a response, and whether the page of another origin reads it.
func wantShared(t *testing.T, r response, status int, shared bool) {
	t.Helper()
	origin, exposed := "", ""
	if shared {
		origin, exposed = shop, "Location, Retry-After, X-Instance, X-Trace-Id"
	}
	h := r.Header()
	if r.Code != status || h.Get("Access-Control-Allow-Origin") != origin ||
		h.Get("Access-Control-Expose-Headers") != exposed || h.Get("Vary") != "Origin" {
		t.Errorf("%v, want %d, shared: %v", r, status, shared)
	}
}

func TestWithoutOriginsNothingIsShared(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	wantProblem(t, f.ask("OPTIONS", "/coupons", shop, "", "POST", ""), 405, "method_not_allowed")
	r := f.ask("GET", "/coupons", shop, userToken(t, 42), "", "")
	if h := r.Header(); r.Code != 200 || h.Get("Vary") != "" || h.Get("Access-Control-Allow-Origin") != "" ||
		strings.Contains(string(f.Overloaded()), "Access-Control") {
		t.Errorf("%v, %s", r, f.Overloaded())
	}
}
