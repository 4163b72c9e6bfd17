package lab_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

// bodyLimits has the largest body that nginx accepts on each kind of path.
var bodyLimits = map[string]int{
	"/coupons": 8192, "/coupons/1": 8192, "/coupons/1/stock": 8192,
	"/coupons/1/orders": 0, "/orders": 0, "/docs/": 0, "/": 0,
}

// chunked frames a body, or its beginning.
func chunked(size int, body string) string {
	return fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s", size, body)
}

func TestNginxRefusesBodiesThatNoOperationNeeds(t *testing.T) {
	t.Parallel()
	n := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the body reached the instance") })
	for path, limit := range bodyLimits {
		for _, framing := range []string{fmt.Sprintf("Content-Length: %d\r\n\r\n", limit+1), chunked(limit+1, "x")} {
			resp, body := send(t, n, "POST "+path+" HTTP/1.1\r\nHost: h\r\n"+framing)
			wantProblem(t, resp, body, 413, "body_too_large")
		}
	}
}

// A body in a file costs disk, and a line of the log each.
func TestNginxKeepsBodiesInMemory(t *testing.T) {
	t.Parallel()
	n := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, strconv.FormatInt(n, 10))
	}, lab.NoLimits, verbose)
	for path, limit := range bodyLimits {
		if limit == 0 {
			continue
		}
		text := strings.Repeat("x", limit)
		for _, request := range []string{fmt.Sprintf("Content-Length: %d\r\n\r\n%s", limit, text),
			chunked(limit, text) + "\r\n0\r\n\r\n"} {
			if _, got := send(t, n, "POST "+path+" HTTP/1.1\r\nHost: h\r\n"+request); got != strconv.Itoa(limit) {
				t.Errorf("%s: the instance read %s of %d bytes", path, got, limit)
			}
		}
	}
	check.NoError(t, n.Stop())
	if log := n.LogTail(); strings.Contains(log, "[warn]") {
		t.Errorf("nginx logs %s", log)
	}
}
