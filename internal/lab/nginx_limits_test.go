package lab_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

// crowd is an address that limited names as one of many clients.
const crowd = "203.0.113.7"

// limited adds edits by which nginx takes a client's address from the header X-Client, so that a
// test can have many, and replies to /client with what the client counts as. What a client may do at
// once is as deployed; more is allowed after a minute, because a busy machine may be slower than the rates.
func limited(edits ...lab.Edit) []lab.Edit {
	for _, rate := range []int{10, 40, 100, 1000, 4000} {
		edits = append(edits, edit("site/limits.conf", fmt.Sprintf("rate=%dr/s", rate), "rate=1r/m"))
	}
	return append(edits,
		edit("site/listen.conf", "\nlisten ", "\nset_real_ip_from 127.0.0.1;\nreal_ip_header X-Client;\n"+
			"location = /client { return 200 \"$client|$site\"; }\nlisten "),
		// A busy machine needs longer than 10 s until all of a crowd are connected, or have a request in progress.
		edit("nginx.conf", "client_header_timeout 10s", "client_header_timeout 60s"),
		edit("nginx.conf", "proxy_read_timeout 10s", "proxy_read_timeout 60s"),
		edit("nginx.conf", "\n    send_timeout 10s", "\n    send_timeout 60s"),
		edit("site/limits.conf", "#"+crowd+" 1;", crowd+" 1;"))
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
	c := client{serve(t, func(http.ResponseWriter, *http.Request) {}, limited()...), "192.0.2.1", "/readyz"}
	replies, err := c.pipeline(300)
	if err != nil || replies[200] < 200 || replies[429] == 0 {
		t.Errorf("%v, %v; want 200 for the first 200, and some 429", replies, err)
	}
}

// flood sends n times 150 requests from each address, each on a connection of its own.
// That is less than the limit of a connection. It returns how many replies had each
// status. nginx refuses the path, and counts the requests all the same.
func flood(t *testing.T, nginx *lab.Nginx, n int, addresses ...string) map[int]int {
	t.Helper()
	var (
		mu      sync.Mutex
		replies = map[int]int{}
	)
	check.AtOnce(n*len(addresses), func(i int) {
		of, err := client{nginx, addresses[i%len(addresses)], "/metrics"}.pipeline(150)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for status, count := range of {
			replies[status] += count
		}
	})
	return replies
}

// The networks of the site each stay within their own limit.
func TestNginxLimitsRequestsOfAnAddressOrAnIPv6Site(t *testing.T) {
	t.Parallel()
	var networks []string
	for i := range 16 {
		networks = append(networks, fmt.Sprintf("2001:db8:0:%x::1", i))
	}
	for name, tc := range map[string]struct {
		addresses []string
		times     int // that 150 requests come from each
		passed    int // at least
		limited   bool
		other     string // has limits of its own
	}{
		"an address":    {[]string{"192.0.2.1"}, 40, 5000, true, "192.0.2.2"},
		"an IPv6 site":  {networks, 9, 20_000, true, "2001:db8:1::1"},
		"a named crowd": {[]string{crowd}, 40, 6000, false, "192.0.2.2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := serve(t, nil, limited()...)
			replies := flood(t, n, tc.times, tc.addresses...)
			if replies[404] < tc.passed || (replies[429] > 0) != tc.limited {
				t.Errorf("%v, want 404 for the first %d, and some 429: %v", replies, tc.passed, tc.limited)
			}
			if resp, _ := (client{n, tc.other, "/metrics"}).get(t); resp.StatusCode != 404 {
				t.Errorf("%s: %s", tc.other, resp.Status)
			}
		})
	}
}

// All customers of a school share an address, and claim when the sale begins. The
// queue of the test's instance may overflow (503), but no limit stops them.
func TestNginxPassesOnACrowdBehindOneAddress(t *testing.T) {
	t.Parallel()
	const users = 5000
	c := client{serve(t, func(http.ResponseWriter, *http.Request) {}, limited()...), "192.0.2.1", "/orders"}
	var (
		mu       sync.Mutex
		statuses = map[int]int{}
		conns    [users]net.Conn
	)
	for i := range conns {
		conns[i] = connect(t, c.nginx)
	}
	check.AtOnce(users, func(i int) {
		status := 0
		if _, err := io.WriteString(conns[i], c.request()); err == nil {
			if resp, err := http.ReadResponse(bufio.NewReader(conns[i]), nil); err == nil {
				status = resp.StatusCode
			}
		}
		mu.Lock()
		defer mu.Unlock()
		statuses[status]++
	})
	if statuses[200] == 0 || statuses[200]+statuses[503] != users {
		t.Errorf("%v, want no 429 for %d", statuses, users)
	}
}

func TestNginxLimitsConnectionsOfAnAddress(t *testing.T) {
	t.Parallel()
	for path, limit := range map[string]int{"/docs/": 50, "/orders/": 60} { // of 5,000 the first would end meanwhile
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			started := make(chan struct{}, limit+2)
			few := edit("site/limits.conf", "client_connections 5000;", "client_connections 60;")
			n := serve(t, func(http.ResponseWriter, *http.Request) {
				started <- struct{}{}
				<-release
			}, limited(few)...)
			t.Cleanup(func() { close(release) })
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

// The claim that is refused was not passed on. Other requests are not counted.
func TestNginxLimitsClaimsInProgress(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	started := make(chan struct{}, 3)
	n := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			started <- struct{}{}
			<-release
		}
	}, limited(claimsInProgress(2))...)
	releaseAll := sync.OnceFunc(func() { close(release) })
	t.Cleanup(releaseAll) // before the instance ends, which waits for its handlers
	var inProgress []net.Conn
	for range 2 {
		inProgress = append(inProgress, connect(t, n))
		_, err := io.WriteString(inProgress[len(inProgress)-1], emptyClaim)
		check.NoError(t, err)
		check.Receive(t, "a claim within the limit is passed on", started)
	}
	resp, body := send(t, n, emptyClaim)
	wantProblem(t, resp, body, 503, "overloaded")
	if resp.Header.Get("Retry-After") != "1" || len(started) > 0 {
		t.Errorf("Retry-After %q, %d passed on", resp.Header.Get("Retry-After"), len(started))
	}
	if resp, _ := (client{n, "", "/coupons/1/orders"}).get(t); resp.StatusCode != 200 {
		t.Errorf("another request: %s", resp.Status)
	}
	releaseAll()
	for _, conn := range inProgress {
		_, err := http.ReadResponse(bufio.NewReader(conn), nil)
		check.NoError(t, err)
	}
	// nginx may count a claim until its client has the reply, and a little longer
	check.Eventually(t, "a claim is passed on after the others", func() bool {
		resp, _ := send(t, n, emptyClaim)
		return resp.StatusCode == 200
	})
}

// hold sends a request and leaves the connection open.
func hold(t *testing.T, c client) {
	t.Helper()
	_, err := io.WriteString(connect(t, c.nginx), c.request())
	check.NoError(t, err)
}

// connect opens a connection that is closed at the end of the test.
func connect(t *testing.T, n *lab.Nginx) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(n.URL, "http://"))
	check.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestIPv6ClientsCountByNetworkAndSite(t *testing.T) {
	t.Parallel()
	n := serve(t, nil, limited()...)
	for _, address := range []string{
		"192.0.2.1", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::1", "2001:db8:0:1::9", "2001:db8::1", "::1",
		"2001:a0a:a0a:a0a:a0a:a0a:a0a:a0a", // newlines
	} {
		ip := netip.MustParseAddr(address)
		want := string(ip.AsSlice()) + "|"
		if ip.Is6() {
			want = string(ip.AsSlice()[:8]) + "|" + string(ip.AsSlice()[:6])
		}
		if _, got := (client{n, address, "/client"}).get(t); got != want {
			t.Errorf("%s counts as %q, want %q", address, got, want)
		}
	}
	mapped := netip.MustParseAddr("::ffff:192.0.2.1").As16()
	if _, got := (client{n, "::ffff:192.0.2.1", "/client"}).get(t); got != string(mapped[:])+"|" {
		t.Errorf("an IPv4 address in the form of IPv6 counts as %q", got)
	}
	if _, got := (client{n, crowd, "/client"}).get(t); got != "|" {
		t.Errorf("the crowd counts as %q", got)
	}
}
