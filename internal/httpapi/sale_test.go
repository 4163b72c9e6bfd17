package httpapi

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestClaimVerdicts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)

	id := f.onSale(t, 1)
	made := f.claim(id, user(t, 42))
	if made.Code != 201 || made.Header().Get("Location") != "/orders/"+made.id("id") || made.id("coupon_id") != id || made.id("user_id") != "42" {
		t.Fatalf("claim: %v", made)
	}
	read := f.do("GET", made.Header().Get("Location"), user(t, 42), "")
	if diff := cmp.Diff(made.body, read.body); diff != "" {
		t.Errorf("the order at Location differs: %s", diff)
	}

	other := f.onSale(t, 5)
	first := f.claim(other, user(t, 42))
	again := f.claim(other, user(t, 42))
	wantProblem(t, again, 409, "already_claimed")
	if again.id("order_id") != first.id("id") {
		t.Errorf("order_id %q, want %q", again.id("order_id"), first.id("id"))
	}

	wantProblem(t, f.claim(id, user(t, 43)), 409, "sold_out")
	wantProblem(t, f.claim("7", user(t, 42)), 404, "coupon_not_found")
	wantProblem(t, f.claim(f.created(t, -2*time.Hour, -time.Hour, 5), user(t, 42)), 409, "ended")

	early := f.claim(f.created(t, time.Hour, 2*time.Hour, 5), user(t, 42))
	wantProblem(t, early, 409, "not_started")
	begin, err := time.Parse(time.RFC3339, fmt.Sprint(early.body["begin_time"]))
	if until := time.Until(begin); err != nil || until < 59*time.Minute || until > time.Hour {
		t.Errorf("begin_time: %v (%v)", early.body["begin_time"], err)
	}
}

func TestSecondClaimAtOnceIsToldToRetry(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.onSale(t, 5)
	held, err := f.locker.TryLock(t.Context(), "redis_lock:userId:42", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	a := f.claim(id, user(t, 42))
	wantProblem(t, a, 409, "claim_in_progress")
	if a.Header().Get("Retry-After") != "1" {
		t.Errorf("no Retry-After: %v", a)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := f.claim(id, user(t, 42)); a.Code != 201 {
		t.Errorf("after the other ended: %v", a)
	}
}

func TestOrdersAreTheirUsersOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	made := f.claim(f.onSale(t, 5), user(t, 42))
	path := "/orders/" + made.id("id")
	if a := f.do("GET", path, user(t, 42), ""); a.Code != 200 {
		t.Errorf("my own: %v", a)
	}
	if a := f.do("GET", path, boss(t), ""); a.Code != 200 {
		t.Errorf("as admin: %v", a)
	}
	foreign := f.do("GET", path, user(t, 43), "")
	wantProblem(t, foreign, 404, "order_not_found")
	if diff := cmp.Diff(f.do("GET", "/orders/7", user(t, 43), "").body, foreign.body); diff != "" {
		t.Errorf("another's order can be told from none: %s", diff)
	}
	if a := f.do("GET", "/orders", user(t, 43), ""); a.Body.String() != `{"orders":[]}`+"\n" {
		t.Errorf("another's list: %v", a)
	}
}

func TestRestockIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.onSale(t, 1)
	f.claim(id, user(t, 42))
	wantProblem(t, f.claim(id, user(t, 43)), 409, "sold_out")
	a := f.do("POST", "/coupons/"+id+"/stock", boss(t), `{"add":2}`)
	if a.Code != 200 || a.body["stock"] != 2.0 || a.body["initial_stock"] != 3.0 {
		t.Errorf("restock: %v", a)
	}
	if a := f.claim(id, user(t, 43)); a.Code != 201 {
		t.Errorf("claim after the restock: %v", a)
	}
	wantProblem(t, f.do("POST", "/coupons/7/stock", boss(t), `{"add":1}`), 404, "coupon_not_found")
}

func TestAuditCounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.onSale(t, 5)
	for u := range int64(3) {
		f.claim(id, user(t, u+1))
	}
	want := map[string]any{
		"coupon_id": id, "initial_stock": 5.0, "stock": 2.0, "orders": 3.0, "distinct_users": 3.0,
		"most_per_user": 1.0, "oversold": 0.0, "duplicates": 0.0, "undersold": 0.0,
	}
	if diff := cmp.Diff(want, f.do("GET", "/coupons/"+id+"/audit", boss(t), "").body); diff != "" {
		t.Error(diff)
	}
}

func TestListsPageToTheEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var coupons, orders []string
	for range 5 {
		id := f.onSale(t, 1)
		coupons = append(coupons, id)
		orders = append(orders, f.claim(id, user(t, 42)).id("id"))
	}
	slices.Reverse(coupons)
	slices.Reverse(orders)
	if diff := cmp.Diff(coupons, f.pages(t, "coupons")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(orders, f.pages(t, "orders")); diff != "" {
		t.Error(diff)
	}
}

// pages walks a list two at a time.
func (f *fixture) pages(tb testing.TB, list string) (ids []string) {
	tb.Helper()
	for path := "/" + list + "?limit=2"; ; {
		a := f.do("GET", path, user(tb, 42), "")
		if a.Code != 200 {
			tb.Fatalf("%s: %v", path, a)
		}
		for _, item := range a.body[list].([]any) {
			ids = append(ids, item.(map[string]any)["id"].(string))
		}
		next := a.id("next")
		if next == "" || len(ids) > 10 {
			return ids
		}
		path = "/" + list + "?limit=2&before=" + next
	}
}

func FuzzID(f *testing.F) {
	for _, seed := range []string{"1", "0", "-1", "+1", "01", "9223372036854775807", "9223372036854775808", " 1", "1e3", "", "٣"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var id ID
		if err := id.UnmarshalText([]byte(text)); err != nil {
			return
		}
		if back, _ := id.MarshalText(); string(back) != text || id.n <= 0 {
			t.Errorf("%q became %s", text, back)
		}
	})
}
