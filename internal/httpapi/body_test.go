package httpapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
)

// A client can send a body that ends early or is framed wrongly only over a
// connection, so these requests are written as text.
func TestBrokenBodyIsABadRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	address := f.serve(t)
	for name, step := range map[string]struct{ framing, body string }{
		"cut off":             {"Content-Length: 100", `{"name":`},
		"cut off in a chunk":  {"Transfer-Encoding: chunked", "ff\r\n{"},
		"without last chunk":  {"Transfer-Encoding: chunked", "1\r\n{\r\n"},
		"without chunk size":  {"Transfer-Encoding: chunked", "x\r\n{}\r\n0\r\n\r\n"},
		"too long chunk size": {"Transfer-Encoding: chunked", "fffffffffffffffff\r\n{}\r\n0\r\n\r\n"},
		"chunk without end":   {"Transfer-Encoding: chunked", "1\r\n{}\r\n0\r\n\r\n"},
		"broken trailer":      {"Transfer-Encoding: chunked", "2\r\n{}\r\n0\r\nx\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := fmt.Sprintf("POST /coupons HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n%s",
				adminToken(t), step.framing, step.body)
			wantProblem(t, sendText(t, address, text), 400, "incomplete_body")
		})
	}
}

// serve serves f on a loopback port and returns its address.
func (f *fixture) serve(tb testing.TB) string {
	tb.Helper()
	server := httptest.NewServer(f)
	tb.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// sendText sends text over a connection of its own, half-closes the connection
// and returns the response.
func sendText(tb testing.TB, address, text string) response {
	tb.Helper()
	conn, err := net.Dial("tcp", address)
	check.NoError(tb, err)
	defer conn.Close()
	if _, err := conn.Write([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	check.NoError(tb, conn.(*net.TCPConn).CloseWrite())
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	check.NoError(tb, err)
	defer resp.Body.Close()
	r := response{ResponseRecorder: httptest.NewRecorder()}
	maps.Copy(r.Header(), resp.Header)
	if resp.Close { // ReadResponse removes the header
		r.Header().Set("Connection", "close")
	}
	r.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(r, resp.Body); err != nil {
		tb.Fatal(err)
	}
	_ = json.Unmarshal(r.Body.Bytes(), &r.body)
	return r
}

// Programs before and behind the service might read such a body differently.
func (f *fixture) ambiguousBodyIsRefused(t *testing.T) {
	const rest = `"begin_time":"2020-01-01T00:00:00Z","end_time":"2090-01-01T00:00:00Z","stock":1}`
	for name, start := range map[string]string{
		"duplicate name":         `{"name":"a","name":"b",`,
		"escaped duplicate name": `{"name":"a","n\u0061me":"b",`,
		"lone high surrogate":    `{"name":"\ud83d",`,
		"lone low surrogate":     `{"name":"\ude00a",`,
		"infinite number":        `{"name":1e99999,`,
	} {
		r := f.do("POST", "/coupons", adminToken(t), start+rest)
		if r.Code != 400 || strings.Contains(r.Body.String(), "Go ") {
			t.Errorf("%s: %v", name, r)
		}
	}
	wantStatus(t, f.do("POST", "/coupons", adminToken(t), `{"name":"\ud83d\ude00",`+rest), 201)
}
