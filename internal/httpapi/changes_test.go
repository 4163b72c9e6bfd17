package httpapi

import (
	"fmt"
	"testing"

	"example.com/flashsale/internal/auth"
)

func TestAdminsReadWhoChangedCoupons(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := sign(t, auth.Identity{UserID: 2, Role: auth.RoleAdmin})
	id := f.createCoupon(t, 3)
	f.createCoupon(t, 5)
	if r := f.do("POST", "/coupons/"+id+"/stock", other, `{"add":10}`); r.Code != 200 {
		t.Fatal(r)
	}
	wantProblem(t, f.do("GET", "/changes", userToken(t, 42), ""), 403, "forbidden")
	r := f.do("GET", "/changes?coupon_id="+id, other, "")
	changes, _ := r.body["changes"].([]any)
	if r.Code != 200 || len(changes) != 2 || r.body["next"] != nil {
		t.Fatal(r)
	}
	for i, want := range []string{
		"admin 2 restock: map[from:3 to:13] map[from:3 to:13]",
		"admin 1 create: map[from:0 to:3] map[from:0 to:3]",
	} {
		c := changes[i].(map[string]any)
		got := fmt.Sprintf("admin %v %v: %v %v", c["admin_id"], c["action"], c["initial_stock"], c["stock"])
		if got != want || c["coupon_id"] != id {
			t.Errorf("change %d: %s, want %s", i, got, want)
		}
	}
}

func TestChangesArePaged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 3 {
		f.createCoupon(t, 1)
	}
	first := f.do("GET", "/changes?limit=2", adminToken(t), "")
	if changes, _ := first.body["changes"].([]any); len(changes) != 2 || first.id("next") == "" {
		t.Fatal(first)
	}
	second := f.do("GET", "/changes?limit=2&before="+first.id("next"), adminToken(t), "")
	if changes, _ := second.body["changes"].([]any); len(changes) != 1 || second.body["next"] != nil {
		t.Error(second)
	}
	for _, query := range []string{"coupon_id=", "coupon_id=0", "coupon_id=1&coupon_id=2", "limit=", "before=x"} {
		r := f.do("GET", "/changes?"+query, adminToken(t), "")
		wantProblem(t, r, 422, "invalid_input")
		if errs, _ := r.body["errors"].([]any); len(errs) != 1 {
			t.Errorf("%s: %v", query, r)
		}
	}
}
