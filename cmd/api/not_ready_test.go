package main

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// A notReadyTest is two instances behind nginx, of which b reaches MySQL and Redis through
// proxies.
type notReadyTest struct {
	t            *testing.T
	a, b, nginx  *instance
	db           string // the DSN of a
	mysql, redis *faultproxy.Proxy
	sockets      map[string]string // of the servers, by name
	coupon       string
	claimed      int64
}

func newNotReadyTest(t *testing.T, begun func(n *notReadyTest)) *notReadyTest {
	t.Helper()
	n := &notReadyTest{t: t}
	var viaProxy string
	n.mysql, viaProxy, n.db = proxiedMySQL(t)
	server, err := mysql.ParseDSN(n.db)
	check.NoError(t, err)
	redis := labtest.Redis(t)
	n.redis = labtest.Proxy(t, redis.URL)
	n.sockets = map[string]string{"mysql": server.Addr, "redis": strings.TrimPrefix(redis.URL, "unix://")}
	env := environ(t, map[string]string{
		"MYSQL_DSN": n.db, "REDIS_URL": redis.URL, "USER_RATE": "0", "CLAIM_TIMEOUT": "9s", // a busy machine stalls
	})
	n.a = start(t, env)
	n.coupon = n.a.createCoupon(t, 100_000)
	begun(n)
	other := maps.Clone(env)
	maps.Copy(other, map[string]string{
		"INSTANCE": "b", "MYSQL_DSN": viaProxy, "REDIS_URL": "redis://" + n.redis.Addr(),
	})
	port, err := lab.FreePort()
	check.NoError(t, err)
	other["HTTP_ADDR"] = fmt.Sprintf("127.0.0.1:%d", port)
	n.b = begin(t, other)
	n.nginx = behindNginx(t, n.a.address(), other["HTTP_ADDR"])
	return n
}

// claim claims for another user each time. It returns the instance that made the claim, or
// the code of the problem.
func (n *notReadyTest) claim() (verdict string, header http.Header) {
	n.t.Helper()
	n.claimed++
	r := n.nginx.post(n.t, "/coupons/"+n.coupon+"/orders", tokenFor(n.t, n.claimed, auth.RoleUser), "")
	if r.status == http.StatusCreated {
		return r.header.Get("X-Instance"), r.header
	}
	return fmt.Sprint(r.body["code"]), r.header
}

// claims returns how many of so many claims ended how.
func (n *notReadyTest) claims(count int) map[string]int {
	n.t.Helper()
	verdicts := map[string]int{}
	for range count {
		verdict, _ := n.claim()
		verdicts[verdict]++
	}
	return verdicts
}

// wantBoth waits until both instances make claims.
func (n *notReadyTest) wantBoth() {
	n.t.Helper()
	eventually(n.t, func() bool {
		verdicts := n.claims(10)
		return verdicts["a"] > 0 && verdicts["b"] > 0
	})
}

func TestClaimsGoOnWhileAnotherInstanceStarts(t *testing.T) {
	t.Parallel()
	for name, hinder := range map[string]func(n *notReadyTest) (end func()){
		"database away": func(n *notReadyTest) func() {
			n.mysql.Retarget(n.sockets["mysql"] + ".none")
			return func() { n.mysql.Retarget(n.sockets["mysql"]) }
		},
		"migration locked": func(n *notReadyTest) func() {
			const lock = `DO GET_LOCK(SHA2(CONCAT('migrations of ', DATABASE()), 256), 0)`
			other, err := labtest.Open(n.t, n.db).Conn(n.t.Context())
			if err == nil {
				_, err = other.ExecContext(n.t.Context(), lock)
			}
			check.NoError(n.t, err)
			return func() { _, _ = other.ExecContext(n.t.Context(), `DO RELEASE_ALL_LOCKS()`) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var end func()
			n := newNotReadyTest(t, func(n *notReadyTest) { end = hinder(n) })
			if got := n.claims(100); got["a"] != 100 {
				t.Errorf("while b starts: %v, want all made by a", got)
			}
			eventually(t, func() bool { return strings.Contains(n.b.log.String(), `"msg":"waiting for `) })
			end()
			n.wantBoth()
		})
	}
}

func TestClaimsGoOnWhileAnInstanceLacksAServer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mysql", "redis"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNotReadyTest(t, func(*notReadyTest) {})
			n.b.listening(t)
			n.wantBoth()
			p := map[string]*faultproxy.Proxy{"mysql": n.mysql, "redis": n.redis}[name]
			p.Retarget(n.sockets[name] + ".none")
			p.Disconnect()
			if got := n.claims(200); got["unavailable"] > 10 || got["a"] < 190 {
				t.Errorf("without the server: %v", got)
			}
			eventually(t, func() bool {
				got := n.claims(100)
				if got["a"] != 100 && !n.a.log.Says("dependency unavailable", "dependency", "mysql") { // stalled
					t.Errorf("later: %v, want all made by a", got)
				}
				return got["a"] == 100
			})
			p.Retarget(n.sockets[name])
			n.wantBoth()
		})
	}
}

func TestClaimsGetAProblemWhileNoInstanceCanServe(t *testing.T) {
	t.Parallel()
	n := newNotReadyTest(t, func(*notReadyTest) {})
	n.b.listening(t)
	n.a.end(t)
	n.mysql.Retarget(n.sockets["mysql"] + ".none")
	n.mysql.Disconnect()
	for range 50 {
		verdict, header := n.claim()
		if verdict != "unavailable" || header.Get("Retry-After") == "" {
			t.Errorf("%s %v", verdict, header)
		}
	}
	n.mysql.Retarget(n.sockets["mysql"])
	eventually(t, func() bool { verdict, _ := n.claim(); return verdict == "b" })
}
