package httpapi

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// serve serves f on a loopback port and returns its address.
func (f *fixture) serve(tb testing.TB) string {
	tb.Helper()
	server := httptest.NewUnstartedServer(f)
	server.Listener = f.Listener(server.Listener)
	server.Config.MaxHeaderBytes = 16 << 10
	server.Start()
	tb.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestRequestThatIsNotHTTPGetsAProblem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	address := f.serve(t)
	for text, want := range map[string]*Problem{
		"GET /livez HTTP/1.1\r\n\r\n":                                                      badRequest, // without Host
		"GET /livez HTTP/1.1\r\nHost: a\r\nX: a\x01b\r\n\r\n":                              badRequest,
		"GET /livez HTTP/1.1\r\nHost: a\r\nX y: a\r\n\r\n":                                 badRequest,
		"GET /li\x01vez HTTP/1.1\r\nHost: a\r\n\r\n":                                       badRequest,
		"nonsense\r\n\r\n":                                                                 badRequest,
		"GET /livez HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 32<<10) + "\r\n\r\n": headersTooLarge,
		"POST /coupons HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n":             notImplemented,
		"GET /livez HTTP/1.1\r\nHost: a\r\nExpect: the unexpected\r\n\r\n":                 badExpectation,
		"GET /livez HTTP/3.0\r\nHost: a\r\n\r\n":                                           wrongVersion,
	} {
		r := sendText(t, address, text)
		wantProblem(t, r, want.Status, want.Code)
		if r.Header().Get("Connection") != "close" {
			t.Errorf("%.60q: the connection stays open: %v", text, r)
		}
	}
	f.wantMetric(t, fmt.Sprintf(`http_requests_total{method="any",route="unmatched",status="%d"} 5`,
		badRequest.Status))
	if r := sendText(t, address, "GET /livez HTTP/1.0\r\n\r\n"); r.Code != 200 ||
		r.Body.String() != "{\"status\":\"ok\"}\n" {
		t.Errorf("HTTP/1.0 without Host: %v", r)
	}
}
