package httpapi

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rfc3339 writes t as a coupon's times are written: without zeros at the end.
func rfc3339(t time.Time) string { return t.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano) }

// update patches a coupon as an administrator.
func (f *fixture) update(tb testing.TB, id, body string) response {
	tb.Helper()
	r := f.do("PATCH", "/coupons/"+id, adminToken(tb), body)
	if r.Code != 200 {
		tb.Fatalf("update: %v", r)
	}
	return r
}

func (f *fixture) end(tb testing.TB, id string, end time.Time) response {
	tb.Helper()
	return f.update(tb, id, fmt.Sprintf(`{"end_time":%q}`, rfc3339(end)))
}

func TestAdminsEndAndExtendASale(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 2)
	made := f.claim(id, userToken(t, 42))
	ended := time.Now().Add(-time.Minute)
	if r := f.end(t, id, ended); r.body["end_time"] != rfc3339(ended) || r.body["stock"] != 1.0 {
		t.Errorf("ended: %v", r)
	}
	wantProblem(t, f.claim(id, userToken(t, 43)), 409, "ended")
	wantProblem(t, f.claim(id, userToken(t, 42)), 409, "ended")

	f.end(t, id, time.Now().Add(time.Hour)) // it is on sale again, with what is left
	duplicate := f.claim(id, userToken(t, 42))
	wantProblem(t, duplicate, 409, "already_claimed")
	if duplicate.id("order_id") != made.id("id") {
		t.Errorf("order_id %q, want %q", duplicate.id("order_id"), made.id("id"))
	}
	wantStatus(t, f.claim(id, userToken(t, 43)), 201)
	wantProblem(t, f.claim(id, userToken(t, 44)), 409, "sold_out")

	f.end(t, id, ended) // and the same with a coupon that is sold out
	wantProblem(t, f.claim(id, userToken(t, 44)), 409, "ended")
	f.end(t, id, time.Now().Add(time.Hour))
	wantProblem(t, f.claim(id, userToken(t, 44)), 409, "sold_out")
	wantProblem(t, f.claim(id, userToken(t, 43)), 409, "already_claimed")
	wantStatus(t, f.do("POST", "/coupons/"+id+"/stock", adminToken(t), `{"add":1}`), 200)
	wantStatus(t, f.claim(id, userToken(t, 44)), 201)
	want := "map[coupon_id:" + id + " distinct_users:3 duplicates:0 expired:0 initial_stock:3 most_per_user:1 orders:3 outside_window:0 " +
		"overdue:0 oversold:0 returned:0 stock:0 surplus:0 undersold:0 used:0]"
	if got := fmt.Sprint(f.do("GET", "/coupons/"+id+"/audit", adminToken(t), "").body); got != want {
		t.Errorf("audit: %s, want %s", got, want)
	}
}

func TestUpdatesAreInTheChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 3)
	before := f.do("GET", "/coupons/"+id, userToken(t, 42), "")
	end := rfc3339(time.Now().Add(time.Minute))
	f.update(t, id, `{"name":" 50 off ","end_time":"`+end+`"}`)
	r := f.do("GET", "/changes?coupon_id="+id, adminToken(t), "")
	changes, _ := r.body["changes"].([]any)
	if len(changes) != 2 {
		t.Fatal(r)
	}
	c := changes[0].(map[string]any)
	step := func(from, to any) map[string]any { return map[string]any{"from": from, "to": to} }
	begin := before.body["begin_time"]
	want := map[string]any{
		"id": c["id"], "coupon_id": id, "admin_id": "1", "action": "update", "created_at": c["created_at"],
		"initial_stock": step(3.0, 3.0), "stock": step(3.0, 3.0), "name": step("100 off", "50 off"),
		"begin_time": step(begin, begin), "end_time": step(before.body["end_time"], end),
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	if _, has := changes[1].(map[string]any)["name"]; has {
		t.Errorf("the creation has a name before and after: %v", r)
	}
	f.db.MustExec(`DELETE FROM coupon_updates`) // as another shard, which has not committed yet
	wantStatus(t, f.do("GET", "/changes", adminToken(t), ""), 200)
}

func TestInvalidUpdatesAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 2)
	before := f.do("GET", "/coupons/"+id, userToken(t, 42), "").Body.String()
	for _, step := range []struct{ body, field string }{
		{`{}`, ""},
		{`{"name":null}`, "name"},
		{`{"begin_time":null,"name":"a"}`, "begin_time"},
		{`{"end_time":null,"name":"a"}`, "end_time"},
		{`{"end_time":"2000-01-01T00:00:00Z"}`, "end_time"}, // before its begin
		{`{"begin_time":"9999-01-01T00:00:00Z"}`, "end_time"},
		{`{"end_time":"tomorrow"}`, "end_time"},
		{`{"name":"\u200b"}`, "name"},
		{`{"Name":"a"}`, "Name"},
		{`{"name":"a","stock":7}`, "stock"},
		{`{"name":7}`, "name"},
	} {
		t.Log(step.body)
		wantField(t, f.do("PATCH", "/coupons/"+id, adminToken(t), step.body), "body", step.field)
	}
	wantProblem(t, f.do("PATCH", "/coupons/"+id, adminToken(t), `{"name":"a","name":"b"}`), 400, "invalid_json")
	wantProblem(t, f.do("PATCH", "/coupons/7", adminToken(t), `{"name":"a"}`), 404, "coupon_not_found")
	if after := f.do("GET", "/coupons/"+id, userToken(t, 42), "").Body.String(); after != before {
		t.Errorf("the coupon is %s, want %s", after, before)
	}
}
