package httpapi

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/life"
	"example.com/flashsale/internal/order/winners"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.Chromium) }

var secret = []byte("a secret of thirty-two bytes, or more")

// A fixture is an open API with a database of its own.
type fixture struct {
	*API
	db     *sqlx.DB
	locker lock.Locker
	log    *labtest.Log
	tb     testing.TB
	spec   spec
}

// A backend says what a fixture runs on. Zero values mean a database of its own,
// and a lock that does not expire during the test.
type backend struct {
	dsn     string
	lockTTL time.Duration
}

// running bounds the claims of a fixture that run at a time.
const running = 64

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	return newFixtureOn(tb, backend{})
}

func newFixtureOn(tb testing.TB, b backend) *fixture {
	tb.Helper()
	if b.dsn == "" {
		b.dsn = labtest.DSN(tb)
	}
	locker := lock.Local()
	f := &fixture{db: labtest.Open(tb, b.dsn), locker: locker, log: new(labtest.Log), tb: tb}
	rdb := labtest.DialURL(tb, labtest.SharedRedis(tb).URL) // for ids alone
	store := coupon.NewStore(f.db)
	cache := coupon.NewCache(store, time.Hour) // an hour: only invalidation shows a change
	committer, err := commit.New(commit.GroupCommit,
		commit.Config{DB: f.db, BatchDB: labtest.Open(tb, b.dsn, connect.MultiStatements)})
	check.NoError(tb, err)
	claims, err := order.New(order.Config{
		Coupons: cache, Winners: winners.New(f.db), Committer: committer,
		IDs: idgen.New(rdb, "order"), Locks: lock.New(locker), Scope: order.PerUser, LockTTL: b.lockTTL,
		Running: running, StuckAfter: order.StuckAfter,
	})
	check.NoError(tb, err)
	f.API = New(Config{
		Coupons: store, Cache: cache, CouponIDs: idgen.New(rdb, "coupon"), Claims: claims,
		Orders:   order.NewStore(f.db),
		Life:     life.New(f.db, cache, false, nil),
		Verifier: auth.NewVerifier(auth.Config{Secrets: []auth.Secret{{Key: secret}}}), Instance: "a",
		Timeout: admission.Timeout(30 * time.Second), Connections: 4096,
		Probes:  []Probe{{"mysql", f.db.PingContext}},
		Docs:    true,
		Metrics: prometheus.NewRegistry(),
		Log:     slog.New(slog.NewTextHandler(f.log, nil)),
	})
	f.spec = served(tb, f.API)
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the log:\n%s", f.log)
		}
	})
	return f
}

// A response holds one HTTP response. body is nil unless it is a JSON object.
type response struct {
	*httptest.ResponseRecorder
	body map[string]any
}

func (r response) String() string { return fmt.Sprintf("%d %v %s", r.Code, r.Header(), r.Body) }

// id returns a member of the body that holds an id.
func (r response) id(name string) string {
	s, _ := r.body[name].(string)
	return s
}

// send serves req and checks that the OpenAPI document has the response.
func (f *fixture) send(req *http.Request) response {
	r := response{ResponseRecorder: httptest.NewRecorder()}
	f.ServeHTTP(r, req)
	_ = json.Unmarshal(r.Body.Bytes(), &r.body)
	f.checkDocumented(req, r)
	return r
}

// do sends one request. An empty token or body is left out.
func (f *fixture) do(method, path, token, body string) response {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return f.send(req)
}

func (f *fixture) claim(couponID, token string) response {
	return f.do("POST", "/coupons/"+couponID+"/orders", token, "")
}

func claimRequest(couponID, token string) *http.Request {
	return request("POST", "/coupons/"+couponID+"/orders", token, "", "")
}

func userToken(tb testing.TB, id int64) string { return sign(tb, auth.Identity{UserID: id}) }

func clerkToken(tb testing.TB) string {
	return sign(tb, auth.Identity{UserID: 7, Role: auth.RoleClerk})
}

func adminToken(tb testing.TB) string {
	return sign(tb, auth.Identity{UserID: 1, Role: auth.RoleAdmin})
}
func sign(tb testing.TB, id auth.Identity) string {
	tb.Helper()
	t, err := auth.Signer{Secret: auth.Secret{Key: secret}}.Sign(id, time.Hour)
	check.NoError(tb, err)
	return t
}

// createCouponFrom creates a coupon whose window is relative to now.
func (f *fixture) createCouponFrom(tb testing.TB, begin, end time.Duration, stock int) string {
	tb.Helper()
	now := time.Now()
	r := f.do("POST", "/coupons", adminToken(tb),
		fmt.Sprintf(`{"name":"100 off","begin_time":%q,"end_time":%q,"stock":%d}`,
			now.Add(begin).Format(time.RFC3339Nano), now.Add(end).Format(time.RFC3339Nano), stock))
	if r.Code != 201 || r.Header().Get("Location") != "/coupons/"+r.id("id") {
		tb.Fatalf("create coupon: %v", r)
	}
	return r.id("id")
}

// createRuled creates a coupon that is on sale, with rules as members of JSON.
func (f *fixture) createRuled(tb testing.TB, stock int, rules string) string {
	tb.Helper()
	r := f.do("POST", "/coupons", adminToken(tb), fmt.Sprintf(
		`{"name":"100 off","begin_time":"2026-01-01T00:00:00Z","end_time":"2099-01-01T00:00:00Z","stock":%d,%s}`, stock, rules))
	if r.Code != 201 {
		tb.Fatalf("create coupon: %v", r)
	}
	return r.id("id")
}

// createCoupon creates a coupon that is on sale and returns its id.
func (f *fixture) createCoupon(tb testing.TB, stock int) string {
	tb.Helper()
	return f.createCouponFrom(tb, -time.Hour, time.Hour, stock)
}

func wantStatus(tb testing.TB, r response, status int) {
	tb.Helper()
	if r.Code != status {
		tb.Errorf("got %v, want %d", r, status)
	}
}

// wantProblem checks the members and headers that all problems have.
func wantProblem(tb testing.TB, r response, status int, code string) {
	tb.Helper()
	if r.Code != status || r.body["code"] != code {
		tb.Errorf("got %v, want %d %s", r, status, code)
	}
	if got := r.Header().Get("Content-Type"); got != "application/problem+json" {
		tb.Errorf("Content-Type %q", got)
	}
	if r.body["status"] != float64(status) || r.body["title"] != http.StatusText(status) ||
		r.body["type"] != "about:blank" {
		tb.Errorf("not a problem: %s", r.Body)
	}
	if h := r.Header(); h.Get("X-Instance") != "a" || h.Get("X-Content-Type-Options") != "nosniff" ||
		h.Get("Cache-Control") != "no-store" {
		tb.Errorf("headers of a problem: %v", h)
	}
}

func request(method, path, token, body, contentType string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}
