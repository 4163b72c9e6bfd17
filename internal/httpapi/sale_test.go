package httpapi

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/internal/check"
)

func TestClaimVerdicts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)

	id := f.createCoupon(t, 1)
	made := f.claim(id, userToken(t, 42))
	if made.Code != 201 || made.Header().Get("Location") != "/orders/"+made.id("id") || made.id("coupon_id") != id ||
		made.id("user_id") != "42" {
		t.Fatalf("claim: %v", made)
	}
	read := f.do("GET", made.Header().Get("Location"), userToken(t, 42), "")
	if diff := cmp.Diff(made.body, read.body); diff != "" {
		t.Errorf("the order at Location differs: %s", diff)
	}

	early := f.claim(f.createCouponFrom(t, time.Hour, 2*time.Hour, 5), userToken(t, 42))
	wantProblem(t, early, 409, "not_started")
	begin, err := time.Parse(time.RFC3339, fmt.Sprint(early.body["begin_time"]))
	if until := time.Until(begin); err != nil || until < 59*time.Minute || until > time.Hour {
		t.Errorf("begin_time: %v (%v)", early.body["begin_time"], err)
	}
}

func TestUsersReadTheirOwnOrdersOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	made := f.claim(f.createCoupon(t, 5), userToken(t, 42))
	path := "/orders/" + made.id("id")
	wantStatus(t, f.do("GET", path, userToken(t, 42), ""), 200)
	wantStatus(t, f.do("GET", path, adminToken(t), ""), 200)
	foreign := f.do("GET", path, userToken(t, 43), "")
	wantProblem(t, foreign, 404, "order_not_found")
	if diff := cmp.Diff(f.do("GET", "/orders/7", userToken(t, 43), "").body, foreign.body); diff != "" {
		t.Errorf("another user's order can be told from no order: %s", diff)
	}
	if r := f.do("GET", "/orders", userToken(t, 43), ""); r.Body.String() != `{"orders":[]}`+"\n" {
		t.Errorf("another user's list: %v", r)
	}
}

func TestListsContinueToTheEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var coupons, orders []string
	for range 5 {
		id := f.createCoupon(t, 5)
		coupons = append(coupons, id)
		var made response
		check.Eventually(t, "the lock of the claim before is released", func() bool {
			made = f.claim(id, userToken(t, 42))
			return made.Code == 201
		})
		orders = append(orders, made.id("id"))
	}
	slices.Reverse(coupons)
	slices.Reverse(orders)
	byUser := []string{orders[0], "", "", "", ""} // of one coupon: by its users, the last first
	for _, user := range []int64{3, 1, 4, 2} {
		byUser[5-user] = f.claim(coupons[0], userToken(t, user)).id("id")
	}
	for path, want := range map[string][]string{
		"/coupons": coupons, "/orders": orders, "/coupons/" + coupons[0] + "/orders": byUser,
	} {
		token := userToken(t, 42)
		if path[1:] != "orders" {
			token = adminToken(t)
		}
		if diff := cmp.Diff(want, f.pages(t, path, token)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	if changes := f.pages(t, "/changes", adminToken(t)); len(changes) != 5 {
		t.Errorf("changes %v", changes)
	}
	wantProblem(t, f.do("GET", "/coupons/7/orders", adminToken(t), ""), 404, "coupon_not_found")
	empty := f.do("GET", "/coupons/"+f.createCoupon(t, 1)+"/orders", adminToken(t), "")
	if empty.Body.String() != `{"orders":[]}`+"\n" {
		t.Errorf("without orders: %v", empty)
	}
}

// pages returns the ids of a list, which it reads two at a time.
func (f *fixture) pages(tb testing.TB, list, token string) (ids []string) {
	tb.Helper()
	for path := list + "?limit=2"; ; {
		r := f.do("GET", path, token, "")
		items, _ := r.body[list[strings.LastIndex(list, "/")+1:]].([]any)
		if r.Code != 200 || len(items) > 2 {
			tb.Fatalf("%s: %v", path, r)
		}
		for _, item := range items {
			ids = append(ids, item.(map[string]any)["id"].(string))
		}
		next := r.id("next")
		if next == "" || len(ids) > 10 {
			return ids
		}
		path = list + "?limit=2&before=" + next
	}
}

func FuzzID(f *testing.F) {
	for _, seed := range []string{"1", "0", "-1", "+1", "01", "9223372036854775807", "9223372036854775808",
		"9999999999999999999", "10000000000000000000", " 1", "1e3", "", "٣"} {
		f.Add(seed)
	}
	pattern := regexp.MustCompile(idPattern)
	f.Fuzz(func(t *testing.T, text string) {
		var id ID
		if err := id.UnmarshalText([]byte(text)); err != nil {
			if pattern.MatchString(text) {
				t.Errorf("%q matches the pattern: %v", text, err)
			}
			return
		}
		tooLarge := len(text) == 19 && text > "9223372036854775807" && id.n == math.MaxInt64
		if back, _ := id.MarshalText(); string(back) != text && !tooLarge || id.n <= 0 || !pattern.MatchString(text) {
			t.Errorf("%q became %s", text, back)
		}
	})
}

func TestStockIsSplitOverSegments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	create := func(members string) response {
		return f.do("POST", "/coupons", adminToken(t),
			`{"name":"a","begin_time":"2020-01-01T00:00:00Z","end_time":"2999-01-01T00:00:00Z"`+members+`}`)
	}
	r := create(`,"stock":3,"segments":3`)
	if r.Code != 201 || r.body["segments"] != 3.0 || r.body["stock"] != 3.0 {
		t.Fatalf("created: %v", r)
	}
	id := r.id("id")
	for user := range int64(3) {
		wantStatus(t, f.claim(id, userToken(t, user+1)), 201)
	}
	r = f.do("POST", "/coupons/"+id+"/stock", adminToken(t), `{"add":1}`)
	if r.Code != 200 || r.body["stock"] != 1.0 || r.body["initial_stock"] != 4.0 || r.body["segments"] != 3.0 {
		t.Errorf("restocked: %v", r)
	}
	wantStatus(t, f.claim(id, userToken(t, 9)), 201)
	if r := create(`,"stock":3`); r.body["segments"] != 1.0 {
		t.Errorf("created without segments: %v", r)
	}
}
