package main

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
)

// A cache would give what names the Host of one client to others. So no response does, whoever of
// nginx and the service made it, and each has the headers that docs/capacity.md promises; nginx adds none of CORS.
func TestNoResponseNamesTheHostOfItsRequest(t *testing.T) {
	t.Parallel()
	i := start(t, environ(t, map[string]string{"CORS_ORIGINS": shop})).ready(t)
	nginx := behindNginx(t, i.address())
	paths := []string{"/", "/docs", "/docs?x", "/docs/", "/docs/init.js", "//docs", "/docs/..", "/livez", "/readyz",
		"/metrics", "/debug", "/debug/", "/openapi.json", "/nothing", "/coupons/", "//evil.example/.."}
	document, _ := i.get(t, "/openapi.json", "").body["paths"].(map[string]any)
	for path := range maps.Keys(document) {
		paths = append(paths, strings.ReplaceAll(path, "{id}", "7"))
	}
	for _, path := range slices.Sorted(slices.Values(paths)) {
		for _, method := range []string{"GET", "HEAD", "POST", "PATCH", "OPTIONS", "TRACE"} {
			wantOwnResponse(t, method, nginx.url+path)
		}
	}
}

// net/http refuses headers in plain text, and so gets none that it refuses.
func TestHeadersOfAnyLengthAreServedOrAProblem(t *testing.T) {
	t.Parallel()
	nginx := behindNginx(t, start(t, environ(t, nil)).ready(t).address())
	for _, size := range []int{20, 700, 7900} {
		for n := 1; n*size < 40<<10; n += 1 + 700/size {
			req, err := http.NewRequestWithContext(t.Context(), "GET", nginx.url+"/livez", nil)
			check.NoError(t, err)
			req.Header["X-Long"] = slices.Repeat([]string{strings.Repeat("x", size)}, n)
			resp, err := http.DefaultTransport.RoundTrip(req)
			check.NoError(t, err)
			_ = resp.Body.Close()
			if resp.StatusCode != 200 && resp.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%d headers of %d bytes: %s", n, size, resp.Status)
			}
		}
	}
}

const shop = "https://shop.example"

// wantOwnResponse sends a request of a page of another origin, which may read what the service replies.
func wantOwnResponse(t *testing.T, method, url string) {
	t.Helper()
	const hostile = "evil.example"
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	check.NoError(t, err)
	req.Host = hostile
	req.Header.Set("Origin", shop)
	resp, err := http.DefaultTransport.RoundTrip(req)
	check.NoError(t, err)
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	location := resp.Header.Get("Location")
	for name, values := range resp.Header {
		if strings.Contains(strings.Join(values, " "), hostile) {
			t.Errorf("%s %s: %s: %s", method, url, name, values)
		}
	}
	if strings.Contains(string(body), hostile) || strings.Contains(location, ":") {
		t.Errorf("%s %s: Location %q, %s", method, url, location, body)
	}
	if h := resp.Header; h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") == "" {
		t.Errorf("%s %s: %s, headers %v", method, url, resp.Status, h)
	}
	shared := resp.Header.Values("Access-Control-Allow-Origin")
	if own := strings.Contains(url, "/coupons/7"); len(shared) > 1 || own && method != "TRACE" && len(shared) == 0 {
		t.Errorf("%s %s: %s is shared with %q", method, url, resp.Status, shared)
	}
}
