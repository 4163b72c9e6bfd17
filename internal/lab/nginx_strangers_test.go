package lab_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

// strangersPlaces is how many claims may be in progress for the tests of who takes their places.
const strangersPlaces = 20

// claimsInProgress limits how many claims may be in progress.
func claimsInProgress(n int) lab.Edit {
	return edit("site/claims.conf", "limit_conn claims 12000;", fmt.Sprintf("limit_conn claims %d;", n))
}

// A body is awaited for as long as its client sends a byte now and then, and nginx knows no token. So no
// request with a needless body may hold what others need: it is refused at once.
func TestUnfinishedBodiesTakeNoPlaceOfAClaim(t *testing.T) {
	t.Parallel()
	created := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) }
	n := serve(t, created, claimsInProgress(strangersPlaces))
	var strangers []net.Conn
	for _, framing := range []string{"Content-Length: 1000\r\n\r\n{", "Content-Length: 01\r\n\r\n", chunked(1000, "x"),
		"Transfer-Encoding: chunked\r\n\r\n"} {
		for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
			for range strangersPlaces + 5 { // those of one kind would take all places
				conn := connect(t, n)
				_, _ = io.WriteString(conn, "POST /coupons/1/orders HTTP/1.1\r\nHost: h\r\n"+expect+framing)
				strangers = append(strangers, conn)
			}
		}
	}
	for range 10 {
		if resp, body := send(t, n, emptyClaim); resp.StatusCode != 201 {
			t.Fatalf("%s beside bodies that do not end: %s", resp.Status, body)
		}
	}
	for _, conn := range strangers {
		wantRefusedBody(t, conn)
	}
}

const emptyClaim = "POST /coupons/1/orders HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"

// wantRefusedBody checks that the request got a 413, and that its connection ends.
func wantRefusedBody(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	check.NoError(t, err)
	body, _ := io.ReadAll(resp.Body)
	wantProblem(t, resp, string(body), 413, "body_too_large")
	if _, err := r.ReadByte(); err == nil {
		t.Error("more than one response")
	} else if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // as net returns it
		t.Error("nginx keeps the connection")
	}
}

func TestConnectionOfARefusedBodyEnds(t *testing.T) {
	t.Parallel()
	n := serve(t, nil, claimsInProgress(strangersPlaces))
	conn := connect(t, n)
	_, _ = io.WriteString(conn, "POST /coupons/1/orders HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n")
	go func() {
		for err := error(nil); err == nil; time.Sleep(100 * time.Millisecond) {
			_, err = io.WriteString(conn, "x")
		}
	}()
	wantRefusedBody(t, conn)
}

// A response that its client does not read keeps the request in progress.
func TestUnreadResponsesKeepNoPlaceOfAClaim(t *testing.T) {
	t.Parallel()
	n := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		}
	}, claimsInProgress(strangersPlaces), edit("nginx.conf", "\n    send_timeout 10s", "\n    send_timeout 1h"))
	for range strangersPlaces {
		conn := connect(t, n)
		_, _ = io.WriteString(conn, emptyClaim)
		_, err := conn.Read(make([]byte, 1))
		check.NoError(t, err)
	}
	honest := strings.Replace(emptyClaim, "\r\n\r\n", "\r\nAuthorization: x\r\n\r\n", 1)
	check.Eventually(t, "a claim is passed on", func() bool {
		resp, _ := send(t, n, honest)
		return resp.StatusCode == 200
	})
}
