package lab_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

// A problem is what a problem document must have.
type problem struct {
	Type, Title, Code, Detail string
	Status                    int
}

// send writes request to nginx as it is, and reads the response.
func send(t *testing.T, n *lab.Nginx, request string) (*http.Response, string) {
	t.Helper()
	conn := connect(t, n)
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, err := io.WriteString(conn, request)
	check.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.40q: %v", request, err)
	}
	body, err := io.ReadAll(resp.Body)
	check.NoError(t, err)
	return resp, string(body)
}

// A page of another origin reads nginx's own errors only where the operator has named the origin.
func TestNginxSharesItsErrorsWithNamedOrigins(t *testing.T) {
	t.Parallel()
	const named = `"https://shop.example"`
	for allowed, begin := range map[string]string{"": "#", "https://shop.example": ""} {
		n := serve(t, nil, edit("problems.conf", "#"+named, begin+named))
		for origin, want := range map[string]string{"https://shop.example": allowed, "https://evil.example": ""} {
			resp, body := send(t, n, "POST /orders HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nOrigin: "+origin+"\r\n\r\nx")
			wantProblem(t, resp, body, 413, "body_too_large")
			exposed := resp.Header.Get("Access-Control-Expose-Headers")
			if resp.Header.Get("Access-Control-Allow-Origin") != want || (exposed != "") != (want != "") {
				t.Errorf("%s: %v, want %q", origin, resp.Header, want)
			}
		}
	}
}

// wantProblem checks that a response is a problem document with all members.
func wantProblem(t *testing.T, resp *http.Response, body string, status int, code string) {
	t.Helper()
	var p problem
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Errorf("status %s, want %d: %v: %.200s", resp.Status, status, err, body)
		return
	}
	want := problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: p.Detail}
	if p != want || p.Detail == "" || resp.StatusCode != status ||
		resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s, %s, %+v, want %+v with a detail", resp.Status, resp.Header.Get("Content-Type"), p, want)
	}
}

func TestNginxRefusesWithProblemDocument(t *testing.T) {
	t.Parallel()
	n := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s reached the instance", r.URL) })
	for name, c := range map[string]struct {
		request string
		status  int
		code    string
	}{
		"not HTTP":            {"\x16\x03\x01\r\n\r\n", 400, "bad_request"},
		"zero byte in a path": {"GET /coupons/%00 HTTP/1.1\r\nHost: h\r\n\r\n", 400, "bad_request"},
		"no Host":             {"GET / HTTP/1.1\r\n\r\n", 400, "bad_request"},
		"two Hosts":           {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "bad_request"},
		"metrics":             {"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n", 404, "route_not_found"},
		"metrics, encoded":    {"GET //%6detrics?x HTTP/1.1\r\nHost: h\r\n\r\n", 404, "route_not_found"},
		"profiles":            {"GET /debug/pprof/heap HTTP/1.1\r\nHost: h\r\n\r\n", 404, "route_not_found"},
		"critical sections":   {"GET /debug/sections HTTP/1.1\r\nHost: h\r\n\r\n", 404, "route_not_found"},
		"profiles, indirect": {"POST /x/../debug/pprof/symbol HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", 404,
			"route_not_found"},
		"its own location": {"GET /.problem HTTP/1.1\r\nHost: h\r\n\r\n", 404, "route_not_found"},
		"of redirects":     {"GET /.elsewhere HTTP/1.1\r\nHost: h\r\n\r\n", 404, "route_not_found"},
		"of the second":    {"GET /x/../.nevertheless HTTP/1.1\r\nHost: h\r\n\r\n", 404, "route_not_found"},
		"TRACE":            {"TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", 405, "method_not_allowed"},
		"long path": {"GET /" + strings.Repeat("9", 9<<10) + " HTTP/1.1\r\nHost: h\r\n\r\n", 414,
			"uri_too_long"},
		"long header": {"GET / HTTP/1.1\r\nHost: h\r\nX-Long: " + strings.Repeat("x", 9<<10) + "\r\n\r\n", 431,
			"headers_too_large"},
		"transfer encoding": {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: br\r\n\r\n", 501, "not_implemented"},
		"HTTP version":      {"GET / HTTP/9.1\r\nHost: h\r\n\r\n", 505, "http_version_not_supported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, body := send(t, n, c.request)
			wantProblem(t, resp, body, c.status, c.code)
			if h := resp.Header; h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("headers %v", h)
			}
			if allow := resp.Header.Get("Allow"); (allow != "") != (c.status == 405) {
				t.Errorf("Allow: %q", allow)
			}
		})
	}
}

func TestNginxAllowsTheMethodsOfThePath(t *testing.T) {
	t.Parallel()
	n := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a TRACE reached the instance") })
	for path, want := range map[string]string{
		"/coupons/1/orders": "GET, HEAD, POST", "/coupons/1/stock?x=/": "POST", "/coupons?limit=1": "GET, HEAD, POST",
		"/coupons/1": "GET, HEAD, PATCH", "/orders": "GET, HEAD", "/coupons/1/audit": "GET, HEAD",
		"/coupons/1/orders.ndjson": "GET, HEAD",
	} {
		if resp, _ := send(t, n, "TRACE "+path+" HTTP/1.1\r\nHost: h\r\n\r\n"); resp.StatusCode != 405 ||
			resp.Header.Get("Allow") != want {
			t.Errorf("%s: %s, Allow: %q, want %q", path, resp.Status, resp.Header.Get("Allow"), want)
		}
	}
}

func TestUnavailableInstancesAreAProblemDocument(t *testing.T) {
	t.Parallel()
	addr, kill := startInstance(t, func(http.ResponseWriter, *http.Request) {})
	n := startNginx(t, addr)
	kill()
	const key = "Idempotency-Key: k\r\n"
	for _, c := range []struct{ request, header, detail, retryAfter string }{
		{"POST /coupons/1/orders", "", "The claim may have succeeded; it is safe to repeat it.", "1"},
		{"POST /coupons/1/orders?x=1", key, "The claim may have succeeded; it is safe to repeat it.", "1"},
		{"GET /coupons", "", "Nothing was changed; repeat the request.", "1"},
		{"DELETE /orders/1", "", "The order may have been changed; it is safe to repeat the request.", "1"},
		{"PUT /orders/1/use", "", "The order may have been changed; it is safe to repeat the request.", "1"},
		{"POST /coupons", "", "look at GET /changes before you repeat it.", ""},
		{"POST /coupons/1/stock?x=/coupons/1/orders", "", "look at GET /changes before you repeat it.", ""},
		{"PATCH /coupons/1", "", "look at GET /changes before you repeat it.", ""},
		{"POST /coupons", key, "it is safe to repeat it with the same Idempotency-Key.", "1"},
		{"PATCH /coupons/1", key, "it is safe to repeat it with the same Idempotency-Key.", "1"},
	} {
		resp, body := send(t, n, c.request+" HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n"+c.header+"\r\n")
		wantProblem(t, resp, body, 503, "unavailable")
		if !strings.Contains(body, c.detail+`"`) || resp.Header.Get("Retry-After") != c.retryAfter {
			t.Errorf("%s %s: Retry-After %q, %s", c.request, c.header, resp.Header.Get("Retry-After"), body)
		}
	}
}

// What an instance may have received is not sent to another one, whether the client
// has a key or not.
func TestNginxSendsAChangeOnce(t *testing.T) {
	t.Parallel()
	var received, keys atomic.Int64
	lose := func(_ http.ResponseWriter, r *http.Request) {
		received.Add(1)
		if r.Header.Get("Idempotency-Key") == "k" {
			keys.Add(1)
		}
		panic(http.ErrAbortHandler)
	}
	a, _ := startInstance(t, lose)
	b, _ := startInstance(t, lose)
	n := startNginx(t, a, b)
	routes := []string{"POST /coupons/1/orders", "POST /coupons", "POST /coupons/1/stock", "PATCH /coupons/1"}
	for i, route := range routes {
		for _, header := range []string{"", "Idempotency-Key: k\r\n"} {
			received.Store(0)
			resp, body := send(t, n, route+" HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n"+header+"\r\n")
			wantProblem(t, resp, body, 503, "unavailable")
			if received.Load() != 1 {
				t.Errorf("%s %s: sent %d times", route, header, received.Load())
			}
		}
		if keys.Load() != int64(i+1) {
			t.Errorf("%s: the instances received %d keys", route, keys.Load())
		}
	}
}

// net/http refuses these requests with a text of its own.
func TestRequestWithoutValidHostReachesTheInstance(t *testing.T) {
	t.Parallel()
	n := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) })
	for request, want := range map[string]string{
		"GET / HTTP/1.0\r\n\r\n":                         "instances",
		"GET / HTTP/1.1\r\nHost: a\"b\r\n\r\n":           "instances",
		"GET / HTTP/1.1\r\nHost: sale.example:8\r\n\r\n": "sale.example:8",
		"GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n":     "[::1]:8080",
	} {
		if resp, host := send(t, n, request); resp.StatusCode != 200 || host != want {
			t.Errorf("%q: %s, the instance gets the host %q, want %q", request, resp.Status, host, want)
		}
	}
}
