package judge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/netutil"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/shop"
	"example.com/flashsale/loadtest/verdict"
)

// A formShop sells one thing to users whose names have to be encoded. Anything but its
// four forms is an error.
type formShop struct {
	mu    sync.Mutex
	stock int
	users map[string]bool
	other []string // what else was asked for
	late  int      // orders that a count does not find yet: one less each time
	limit int      // orders after which all get 429; 0 is none
}

func (s *formShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, named := strings.CutPrefix(r.PostFormValue("the user"), "a&b=+")
	switch {
	case r.URL.Path == "/begin":
		s.stock, _ = strconv.Atoi(r.PostFormValue("stock"))
		s.users = map[string]bool{}
	case r.URL.Path == "/totals":
		n := max(0, len(s.users)-s.late)
		s.late = max(0, s.late-1)
		_ = json.NewEncoder(w).Encode(map[string]int{"stock": s.stock, "orders": n, "users": n})
	case r.URL.Path == "/order":
		if !s.users[strings.TrimPrefix(r.PostFormValue("id"), "2026112800000000")] {
			w.WriteHeader(http.StatusNotFound)
		}
	case r.URL.Path != "/buy" || !named:
		s.other = append(s.other, r.Method+" "+r.URL.Path)
		w.WriteHeader(http.StatusInternalServerError)
	case s.limit > 0 && len(s.users) == s.limit:
		w.WriteHeader(http.StatusTooManyRequests)
	case s.stock == 0 || s.users[user]:
		w.WriteHeader(http.StatusConflict)
	default:
		s.stock--
		s.users[user] = true
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"text": "your \"order\": 2026112800000000%[1]s, thanks", "id": 2026112800000000%[1]s}`, user)
	}
}

// The fields of a form are encoded, and a shop without a coupon is asked for none.
func TestShopWithFormsIsSentThem(t *testing.T) {
	labtest.NeedInterop(t)
	own := new(formShop)
	server := httptest.NewServer(own)
	t.Cleanup(server.Close)
	s, err := shop.Parse([]byte(`
url: ` + server.URL + `
claim: {url: /buy, form: {"the user": "a&b=+{{user}}"}}
reply: {accepted: {status: [201]}, refused: {status: [409]}, order: {matches: '(?i)"ID": (?P<id>\d+)'}}
begin: {requests: [{url: /begin, form: {stock: "{{stock}}"}}]}
totals:
  route: {url: /totals, stock: /stock, orders: /orders, users: /users}
  order: {url: /order, form: {id: "{{order}}"}}
`))
	check.NoError(t, err)
	wantVerdicts(t, judged(t, s, manyUsers, by("k6", rig.K6, rig.ManyUsers)), verdict.Held, verdict.Held)
	if len(own.other) > 0 {
		t.Errorf("the shop was asked for %s", own.other)
	}
}

// start returns the file of s, which serves so many connections at a time.
func (s *formShop) start(t *testing.T, connections int) *shop.Shop {
	t.Helper()
	server := httptest.NewUnstartedServer(s)
	server.Listener = netutil.LimitListener(server.Listener, connections)
	server.Start()
	t.Cleanup(server.Close)
	file, err := shop.Parse([]byte(`
url: ` + server.URL + `
claim: {url: /buy, form: {"the user": "a&b=+{{user}}"}}
reply: {accepted: {status: [201]}, refused: {status: [409]}}
begin: {requests: [{url: /begin, form: {stock: "{{stock}}"}}]}
totals: {after: 1ms, route: {url: /totals, stock: /stock, orders: /orders, users: /users}}
`))
	check.NoError(t, err)
	return file
}

func TestShopIsCountedWhenItsOrdersHaveCome(t *testing.T) {
	t.Parallel()
	wantVerdicts(t, judged(t, (&formShop{late: 15}).start(t, 1000), manyUsers), verdict.Held)
}

func TestRateLimitThatIsOnIsNamed(t *testing.T) {
	t.Parallel()
	results := judged(t, (&formShop{limit: 5}).start(t, 1000), manyUsers)
	wantVerdicts(t, results, verdict.Void)
	if reasons := strings.Join(results[0].Reasons(), "; "); !strings.Contains(reasons, "a rate limit is on") {
		t.Error(reasons)
	}
}

// As Apache with mod_php, whose processes wait for more requests: all but one, which is for the begin.
func TestClaimsLeaveTheirConnectionsToOthers(t *testing.T) {
	t.Parallel()
	wantVerdicts(t, judged(t, new(formShop).start(t, 2), manyUsers), verdict.Held)
}

// Those of Keycloak end after five minutes. Here it is when a second sale has begun since the login.
func TestTokensMayEndBeforeTheNextWorkload(t *testing.T) {
	t.Parallel()
	own, sales := new(formShop), atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			_, _ = fmt.Fprint(w, sales.Load())
			return
		}
		if login, err := strconv.ParseInt(r.Header.Get("Token"), 10, 64); err != nil || login < sales.Load()-1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Path == "/begin" {
			sales.Add(1)
		}
		own.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s, err := shop.Parse([]byte(`
url: ` + server.URL + `
users: &login {login: {url: /login, token: {matches: '\d+'}}}
admin: *login
claim: {url: /buy, form: {"the user": "a&b=+{{user}}"}, headers: {Token: "{{token}}"}}
reply: {accepted: {status: [201]}, refused: {status: [409]}}
begin: {requests: [{url: /begin, form: {stock: "{{stock}}"}, headers: {Token: "{{admin}}"}}]}
totals: {route: {url: /totals, headers: {Token: "{{admin}}"}, stock: /stock, orders: /orders, users: /users}}
`))
	check.NoError(t, err)
	wantVerdicts(t, judged(t, s, manyUsers, manyUsers), verdict.Held, verdict.Held)
}
