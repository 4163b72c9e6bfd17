package judge

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/shop"
	"example.com/flashsale/loadtest/verdict"
)

// A sessionShop has users who log in, by a form with a token, and baskets that they order.
// Without a guard it looks and then acts, and between the two it waits until all claims of
// the burst have looked.
type sessionShop struct {
	guarded bool
	burst   int // claims

	mu      sync.Mutex
	looked  chan struct{} // closed when all have
	looking int
	visits  int
	logins  int
	stock   int
	orders  []string // their users
}

func (s *sessionShop) start(t *testing.T) string {
	t.Helper()
	routes := http.NewServeMux()
	routes.HandleFunc("POST /begin", s.begin)
	routes.HandleFunc("GET /totals", s.totals)
	routes.HandleFunc("GET /login", s.form)
	routes.HandleFunc("POST /login", s.login)
	routes.HandleFunc("GET /basket/{user}", s.basket)
	routes.HandleFunc("POST /basket/{line}/order", s.order)
	routes.HandleFunc("GET /receipts/{order}", s.receipt)
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	return server.URL
}

func (s *sessionShop) begin(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stock, _ = strconv.Atoi(r.FormValue("stock"))
	s.orders, s.looked, s.looking, s.logins = nil, make(chan struct{}), 0, 0
}

func (s *sessionShop) totals(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	users := map[string]bool{}
	for _, u := range s.orders {
		users[u] = true
	}
	fmt.Fprintf(w, `{"stock": %d, "orders": %d, "users": %d}`, s.stock, len(s.orders), len(users))
}

func (s *sessionShop) form(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visits++
	http.SetCookie(w, &http.Cookie{Name: "visit", Value: strconv.Itoa(s.visits), Path: "/"})
	fmt.Fprintf(w, `<form method="post"><input name="user"><input value="a&amp;b %d" type='hidden' name=csrf></form>`, s.visits)
}

func (s *sessionShop) login(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	visit, err := r.Cookie("visit")
	if err != nil || r.PostFormValue("csrf") != "a&b "+visit.Value {
		http.Error(w, "the form is of another visit", http.StatusForbidden)
		return
	}
	s.logins++
	user := r.PostFormValue("user")
	http.SetCookie(w, &http.Cookie{Name: "session", Value: "of " + user, Path: "/basket"})
	w.Header().Set("Location", "http://"+r.Host+"/basket/"+user)
	w.WriteHeader(http.StatusFound)
}

func (s *sessionShop) basket(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Basket", "secret of "+r.PathValue("user"))
	fmt.Fprintf(w, `{"lines": [{"id": %s}]}`, r.PathValue("user"))
}

// order replies with the address of a receipt, or 409.
func (s *sessionShop) order(w http.ResponseWriter, r *http.Request) {
	session, err := r.Cookie("session")
	if err != nil || r.Header.Get("X-Basket") != "secret of "+r.PathValue("line") {
		http.Error(w, "whose basket?", http.StatusForbidden)
		return
	}
	user := strings.TrimPrefix(session.Value, "of ")
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := s.stock; !s.guarded {
		s.awaitAll()
		s.stock = left
	}
	if s.stock <= 0 {
		http.Error(w, "sold out", http.StatusConflict)
		return
	}
	s.stock--
	s.orders = append(s.orders, user)
	w.Header().Set("Location", fmt.Sprintf("/receipts/%d", len(s.orders)))
	w.WriteHeader(http.StatusSeeOther)
}

// awaitAll waits until all claims are here.
func (s *sessionShop) awaitAll() {
	looked := s.looked
	if s.looking++; s.looking == s.burst {
		close(looked)
	}
	s.mu.Unlock()
	<-looked
	s.mu.Lock()
}

func (s *sessionShop) receipt(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "<p>Your order no. %s is on its way.", r.PathValue("order"))
}

const sessionFile = `
url: URL
steps:
  - url: /login
    keep: {csrf: {field: csrf}}
  - url: /login
    form: {csrf: "{{csrf}}", user: "{{user}}"}
    expect: {status: [302]}
    keep: {basket: {header: Location}}
  - url: "{{basket}}"
    keep: {line: {pointer: /lines/0/id}, secret: {header: X-Basket}}
  - method: POST
    url: /basket/{{line}}/order
    headers: {X-Basket: "{{secret}}"}
    burst: true
    expect: {status: [303]}
    keep: {receipt: {header: Location}}
  - url: "{{receipt}}"
reply:
  accepted: {status: [200], matches: order no}
  refused: {status: [409]}
  order: {matches: 'order no\. (\d+)'}
begin: {requests: [{method: POST, url: "/begin?stock={{stock}}"}]}
totals: {route: {url: /totals, stock: /stock, orders: /orders, users: /users}}
`

func (s *sessionShop) parse(t *testing.T, more string) *shop.Shop {
	t.Helper()
	file, err := shop.Parse([]byte(strings.Replace(sessionFile, "URL", s.start(t), 1) + more))
	check.NoError(t, err)
	return file
}

// Twenty users log in one after the other, and order the last unit at one moment.
func TestClaimOfSeveralStepsIsJudgedByItsBurst(t *testing.T) {
	t.Parallel()
	last := burst(rig.Workload{Script: "last-unit", Users: 20, Each: 1, Stock: 1, Rounds: 1})
	guarded := &sessionShop{guarded: true}
	results := judged(t, guarded.parse(t, ""), last)
	wantVerdicts(t, results, verdict.Held)
	if told := results[0].Acknowledged(); len(told) != 1 || told[0].Order != "1" || guarded.logins != 20 {
		t.Errorf("accepted: %+v; %d logins", told, guarded.logins)
	}
	open := &sessionShop{burst: 20}
	results = judged(t, open.parse(t, "breaks: [last-unit]\n"), last)
	wantVerdicts(t, results, verdict.Broke)
	if over := results[0].NotOversold().Broken; over != "19 oversold" {
		t.Error(over)
	}
}

// A user is one browser, or as many as he has claims.
func TestSessionIsOfAUserOrOfAClaim(t *testing.T) {
	t.Parallel()
	twice := burst(rig.Workload{Script: "twice", Users: 3, Each: 2, Stock: 6, Rounds: 1})
	for session, logins := range map[string]int{"user": 3, "claim": 6} {
		s := &sessionShop{guarded: true}
		results := judged(t, s.parse(t, "session: "+session+"\n"), twice)
		wantVerdicts(t, results, verdict.Wrong) // it lets users order twice
		if s.logins != logins {
			t.Errorf("%s: %d logins, want %d", session, s.logins, logins)
		}
	}
}

func TestStepThatFailsIsNamedWithItsReply(t *testing.T) {
	t.Parallel()
	s := (&sessionShop{guarded: true}).parse(t, "")
	s.Steps[1].Form["csrf"] = "forged"
	results := judged(t, s, burst(rig.Workload{Script: "one", Users: 2, Each: 1, Stock: 1, Rounds: 1}))
	wantVerdicts(t, results, verdict.Void)
	reasons := strings.Join(results[0].Reasons(), "; ")
	for _, want := range []string{"step 2 of user", "POST /login: status 403: the form is of another visit"} {
		if !strings.Contains(reasons, want) {
			t.Errorf("%s: want %s", reasons, want)
		}
	}
}

// The steps before the burst take longer than the load.
func TestFaultStrikesWhileClaimsAreSent(t *testing.T) {
	t.Parallel()
	struck := filepath.Join(t.TempDir(), "struck")
	s := (&sessionShop{guarded: true}).parse(t, `
open_loop: {rate: 100, duration: 400ms}
faults: [{name: f, stop: "touch `+struck+`", start: "true", for: 1ms}]
`)
	s.Steps[3].Wait = time.Second
	var began time.Time
	target := rig.Target{URL: string(s.URL), Coupons: []string{""}, Shop: s, Users: []shop.User{{ID: "1"}},
		AtBurst: func() { began = time.Now() }}
	_, err := underFault(s.Faults[0])(t.Context(), "", target, rig.Workload{Users: 1, Each: 10})
	check.NoError(t, err)
	file, err := os.Stat(struck)
	check.NoError(t, err)
	if file.ModTime().Before(began) {
		t.Errorf("the fault struck %s before the first claim", began.Sub(file.ModTime()))
	}
}
