package httpapi_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/httpapi"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/winners"
	"example.com/flashsale/migrations"
)

var exampleSecret = auth.Secret{Key: []byte("at least thirty-two random bytes")}

// An administrator puts a coupon of one unit on sale, and two users claim it.
func ExampleNew() {
	db, rdb, stop := startServers()
	defer stop()
	api := newAPI(db, rdb)

	sale := `{"name": "100 off", "stock": 1, "begin_time": "2020-11-11T00:00:00Z", "end_time": "2099-11-11T00:00:00Z"}`
	created := request(api, auth.Identity{UserID: 1, Role: auth.RoleAdmin}, "/coupons", sale)
	location := created.Header().Get("Location")
	for _, user := range []int64{42, 43} {
		claimed := request(api, auth.Identity{UserID: user}, location+"/orders", "")
		fmt.Println(claimed.Code, http.StatusText(claimed.Code),
			strings.Contains(claimed.Body.String(), `"code":"sold_out"`))
	}
	// Output:
	// 201 Created false
	// 409 Conflict true
}

// newAPI returns the API of an instance that takes every order in Redis' lock of
// its user.
func newAPI(db *sqlx.DB, rdb redis.UniversalClient) *httpapi.API {
	coupons := coupon.NewStore(db)
	cache := coupon.NewCache(coupons, 200*time.Millisecond)
	committer, err := commit.New(commit.PerClaim, commit.Config{DB: db})
	must(err)
	claims, err := order.New(order.Config{
		Coupons: cache, Winners: winners.New(db), Committer: committer, IDs: idgen.New(rdb, "order"),
		Locks: lock.New(redislock.New(rdb)), Scope: order.PerUser, LockTTL: 30 * time.Second,
	})
	must(err)
	return httpapi.New(httpapi.Config{
		Coupons: coupons, Cache: cache, CouponIDs: idgen.New(rdb, "coupon"),
		Claims: claims, Orders: order.NewStore(db),
		Verifier: auth.NewVerifier(auth.Config{Secrets: []auth.Secret{exampleSecret}}),
		Instance: "a", Timeout: admission.Timeout(10 * time.Second), Connections: 1000,
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
}

// request sends a POST request of a user.
func request(api http.Handler, user auth.Identity, path, body string) *httptest.ResponseRecorder {
	token, err := auth.Signer{Secret: exampleSecret}.Sign(user, time.Minute)
	must(err)
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return w
}

// startServers starts a MySQL with the tables and a Redis for one example.
func startServers() (db *sqlx.DB, rdb redis.UniversalClient, stop func()) {
	ctx := context.Background()
	l, err := lab.Open()
	must(err)
	mysql, err := lab.StartMySQL(l)
	must(err)
	dsn, err := mysql.Create(ctx, "flashsale")
	must(err)
	db, err = connect.MySQL(dsn, 4, connect.ShortTransactions)
	must(err)
	must(migrations.Up(ctx, db.DB))
	server, err := lab.StartRedis(l)
	must(err)
	rdb, err = connect.Redis(server.URL, 4)
	must(err)
	return db, rdb, func() { _, _, _ = db.Close(), rdb.Close(), l.Close() }
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
