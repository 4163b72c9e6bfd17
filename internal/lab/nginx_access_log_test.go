package lab_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
)

func TestNginxAccessLogHasNoTokens(t *testing.T) {
	t.Parallel()
	labtest.NeedServers(t)
	var requestID string
	log := filepath.Join(t.TempDir(), "access.log")
	const file = "site/access_log.conf"
	n := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requestID = r.Header.Get("X-Request-Id")
		w.Header().Set("X-Instance", "a")
	}, edit(file, "\naccess_log off;", ""),
		edit(file, "#access_log /dev/stdout", "access_log "+log), edit(file, "1% 1;", "100% 1;"))
	post(t, n.URL+"/coupons/7/orders?token=secret", http.Header{
		"Authorization": {"Bearer secret"}, "X-Request-Id": {"forged"}, "Cookie": {"secret"}, "User-Agent": {"secret"},
		"Referer": {"secret"},
	})
	check.NoError(t, n.Stop()) // writes the log
	b, err := os.ReadFile(log)
	check.NoError(t, err)
	// nginx's workers also log the requests by which the lab awaits nginx.
	lines := strings.Split(string(b), "\n")
	i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "/coupons/7/orders") })
	var got map[string]any
	if err := json.Unmarshal([]byte(lines[max(0, i)]), &got); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	for name, want := range map[string]any{
		"client": "127.0.0.1", "method": "POST", "path": "/coupons/7/orders", "status": 200.0, "instance": "a",
		"request_id": requestID,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if strings.Contains(string(b), "secret") || len(requestID) != 32 {
		t.Errorf("the log has a token, or the request id %q is not nginx's: %s", requestID, b)
	}
}

// Anybody can cause these errors as often as they like.
func TestNginxLogsNoRequestsByDefault(t *testing.T) {
	t.Parallel()
	n := serve(t, nil)
	for request, status := range map[string]int{
		"GET /orders?token=secret HTTP/1.1\r\nHost: h\r\n\r\n":                                503,
		"POST /coupons?token=secret HTTP/1.1\r\nHost: h\r\nContent-Length: 99999\r\n\r\n":     413,
		"GET /metrics?token=secret HTTP/1.1\r\nHost: h\r\n\r\n":                               404,
		"GET /?token=secret HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 9<<10) + "\r\n": 431,
	} {
		if resp, _ := send(t, n, request); resp.StatusCode != status {
			t.Errorf("%.40q: %s", request, resp.Status)
		}
	}
	check.NoError(t, n.Stop())
	if log := n.LogTail(); strings.Contains(log, "client:") || strings.Contains(log, "secret") ||
		strings.Contains(log, "/orders") {
		t.Errorf("nginx logs %s", log)
	}
}
