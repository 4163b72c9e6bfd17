package httpapi

import (
	"bytes"
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

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
)

func TestMain(m *testing.M) { labtest.Main(m) }

var secret = []byte("a secret of thirty-two bytes, or more")

// fixture is an open API on a database and a Redis of its own.
type fixture struct {
	*API
	db     *sqlx.DB
	locker lock.Locker
	log    *bytes.Buffer
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	return newFixtureOn(tb, labtest.DSN(tb))
}

func newFixtureOn(tb testing.TB, dsn string) *fixture {
	tb.Helper()
	f := &fixture{db: labtest.Open(tb, dsn), locker: lock.Local(), log: new(bytes.Buffer)}
	rdb := labtest.Dial(tb, labtest.Redis(tb))
	store := coupon.NewStore(f.db)
	cache := coupon.NewCache(store, time.Hour) // what must be seen sooner, must be told
	claims, err := order.New(order.Config{
		DB: f.db, BatchDB: labtest.Open(tb, dsn, connect.MultiStatements), Coupons: cache, CouponStore: store,
		IDs: idgen.New(rdb, "order"), Locks: lock.New(f.locker), Scope: order.PerUser, LockTTL: 30 * time.Second,
		Strategy: order.GroupCommit,
	})
	if err != nil {
		tb.Fatal(err)
	}
	f.API = New(Config{
		Coupons: store, Cache: cache, CouponIDs: idgen.New(rdb, "coupon"), Claims: claims, Orders: order.NewStore(f.db),
		Secret: secret, Instance: "a", Timeout: 3 * time.Second,
		Probes:  []Probe{{"mysql", f.db.PingContext}},
		Metrics: prometheus.NewRegistry(),
		Log:     slog.New(slog.NewTextHandler(f.log, nil)),
	})
	f.Open()
	return f
}

// answer is what came back, with the body's members if it was a JSON object.
type answer struct {
	*httptest.ResponseRecorder
	body map[string]any
}

func (a answer) String() string { return fmt.Sprintf("%d %v %s", a.Code, a.Header(), a.Body) }

// id is a member of the body that is an id.
func (a answer) id(name string) string {
	s, _ := a.body[name].(string)
	return s
}

func (f *fixture) send(r *http.Request) answer {
	a := answer{ResponseRecorder: httptest.NewRecorder()}
	f.ServeHTTP(a, r)
	_ = json.Unmarshal(a.Body.Bytes(), &a.body)
	return a
}

// do sends one request; a body is JSON, and no token means none.
func (f *fixture) do(method, path, token, body string) answer {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return f.send(r)
}

func (f *fixture) claim(couponID, token string) answer {
	return f.do("POST", "/coupons/"+couponID+"/orders", token, "")
}

func user(tb testing.TB, id int64) string { return sign(tb, auth.Identity{UserID: id}) }
func boss(tb testing.TB) string           { return sign(tb, auth.Identity{UserID: 1, Role: auth.RoleAdmin}) }
func sign(tb testing.TB, id auth.Identity) string {
	tb.Helper()
	t, err := auth.Sign(secret, id, time.Hour)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// created makes a coupon that is on sale from begin to end, relative to now.
func (f *fixture) created(tb testing.TB, begin, end time.Duration, stock int) string {
	tb.Helper()
	now := time.Now()
	a := f.do("POST", "/coupons", boss(tb), fmt.Sprintf(`{"name":"100 off","begin_time":%q,"end_time":%q,"stock":%d}`,
		now.Add(begin).Format(time.RFC3339Nano), now.Add(end).Format(time.RFC3339Nano), stock))
	if a.Code != 201 || a.Header().Get("Location") != "/coupons/"+a.id("id") {
		tb.Fatalf("create coupon: %v", a)
	}
	return a.id("id")
}

func (f *fixture) onSale(tb testing.TB, stock int) string {
	tb.Helper()
	return f.created(tb, -time.Hour, time.Hour, stock)
}

// wantProblem checks everything that every problem promises.
func wantProblem(tb testing.TB, a answer, status int, code string) {
	tb.Helper()
	if a.Code != status || a.body["code"] != code {
		tb.Errorf("got %v, want %d %s", a, status, code)
	}
	if got := a.Header().Get("Content-Type"); got != "application/problem+json" {
		tb.Errorf("Content-Type %q", got)
	}
	if a.body["status"] != float64(status) || a.body["title"] != http.StatusText(status) || a.body["type"] != "about:blank" {
		tb.Errorf("not a problem: %s", a.Body)
	}
	if a.Header().Get("X-Instance") != "a" {
		tb.Errorf("no X-Instance: %v", a.Header())
	}
}

func request(method, path, token, body, contentType string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}
