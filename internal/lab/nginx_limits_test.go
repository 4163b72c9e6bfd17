package lab_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// startLimitedNginx starts nginx with the deployed limits. It takes a client's
// address from the header X-Client, so that a test can have many, and replies to
// /client with what the client counts as.
func startLimitedNginx(t *testing.T, upstreams ...string) *lab.Nginx {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(conf)); err != nil {
		t.Fatal(err)
	}
	listen := filepath.Join(dir, "site", "listen.conf")
	b, err := os.ReadFile(listen)
	if err != nil {
		t.Fatal(err)
	}
	b = append(b,
		"set_real_ip_from 127.0.0.1;\nreal_ip_header X-Client;\nlocation = /client { return 200 $client; }\n"...)
	if err := os.WriteFile(listen, b, 0o644); err != nil {
		t.Fatal(err)
	}
	n, err := lab.StartLimitedNginx(labtest.Lab(t), dir, upstreams...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Kill)
	return n
}

// A client sends requests for a path from one address.
type client struct {
	nginx         *lab.Nginx
	address, path string
}

func (c client) request() string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: h\r\nX-Client: %s\r\n\r\n", c.path, c.address)
}

// get sends one request.
func (c client) get(t *testing.T) (*http.Response, string) {
	t.Helper()
	return send(t, c.nginx, c.request())
}

// pipeline sends n requests at once on one connection. It returns how many
// replies had each status.
func (c client) pipeline(n int) (map[int]int, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.nginx.URL, "http://"))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, strings.Repeat(c.request(), n)) }()
	replies := map[int]int{}
	for r := bufio.NewReader(conn); n > 0; n-- {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return nil, err
		}
		replies[resp.StatusCode]++
	}
	return replies, nil
}

func TestNginxLimitsRequestsOfAConnection(t *testing.T) {
	t.Parallel()
	addr, _ := startInstance(t, func(http.ResponseWriter, *http.Request) {})
	c := client{startLimitedNginx(t, addr), "192.0.2.1", "/readyz"}
	replies, err := c.pipeline(2000)
	if err != nil || replies[200] < 200 || replies[429] == 0 {
		t.Errorf("%v, %v; want 200 for the first 200, and some 429", replies, err)
	}
}

// The requests are refused anyway, and count all the same.
func TestNginxLimitsRequestsOfAnAddress(t *testing.T) {
	t.Parallel()
	n := startLimitedNginx(t, "127.0.0.1:1")
	greedy := client{n, "192.0.2.1", "/metrics"}
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		replies = map[int]int{}
	)
	for range 60 {
		wg.Go(func() {
			of, err := greedy.pipeline(150) // less than the limit of a connection
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for status, count := range of {
				replies[status] += count
			}
		})
	}
	wg.Wait()
	if replies[404] < 2000 || replies[429] == 0 {
		t.Errorf("%v, want 404 for the first 2,000, and some 429", replies)
	}
	if resp, _ := (client{n, "192.0.2.2", "/metrics"}).get(t); resp.StatusCode != 404 {
		t.Errorf("another address: %s", resp.Status)
	}
}

func TestNginxLimitsConnectionsOfAnAddress(t *testing.T) {
	t.Parallel()
	for path, limit := range map[string]int{"/docs/": 50, "/orders/": 2000} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			started := make(chan struct{}, limit+2)
			addr, _ := startInstance(t, func(http.ResponseWriter, *http.Request) {
				started <- struct{}{}
				<-release
			})
			t.Cleanup(func() { close(release) })
			n := startLimitedNginx(t, addr)
			for i := range limit {
				hold(t, client{n, "2001:db8:1:2::1", fmt.Sprintf("%s%d", path, i)})
				<-started
			}
			resp, body := client{n, "2001:db8:1:2:3:4:5:6", path + "more"}.get(t)
			wantProblem(t, resp, body, 429, "rate_limited")
			if resp.Header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After: %q", resp.Header.Get("Retry-After"))
			}
			hold(t, client{n, "2001:db8:1:3::1", path + "other"}) // from another network
			<-started
		})
	}
}

// hold sends a request and leaves the connection open.
func hold(t *testing.T, c client) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.nginx.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, c.request()); err != nil {
		t.Fatal(err)
	}
}

func TestIPv6ClientsCountByNetwork(t *testing.T) {
	t.Parallel()
	n := startLimitedNginx(t, "127.0.0.1:1")
	for address, want := range map[string]string{
		"192.0.2.1":            "192.0.2.1",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2:",
		"2001:db8:1:2::1":      "2001:db8:1:2:",
		"2001:db8:0:1::9":      "2001:db8:0:1:",
		"2001:db8::1":          "2001:db8:",
		"::1":                  ":",
		"::ffff:192.0.2.1":     "::ffff:192.0.2.1",
	} {
		if _, got := (client{n, address, "/client"}).get(t); got != want {
			t.Errorf("%s counts as %q, want %q", address, got, want)
		}
	}
}
