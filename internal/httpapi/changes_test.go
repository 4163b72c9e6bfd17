package httpapi

import "testing"

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
