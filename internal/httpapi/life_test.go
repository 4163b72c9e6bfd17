package httpapi

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/check"
)

// again claims until the lock of the claim before is released.
func again(t *testing.T, claim func() response) (r response) {
	t.Helper()
	check.Eventually(t, "the lock of the claim before is released", func() bool {
		r = claim()
		return r.body["code"] != "claim_in_progress"
	})
	return r
}

// An order's way through the API: claimed by number, used once, returned, sold again.
func TestOrderIsUsedAndReturned(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createRuled(t, 3, `"per_user":3,"returnable":true,"hold_seconds":3600`)
	if c := f.do("GET", "/coupons/"+id, userToken(t, 42), ""); c.body["per_user"] != 3.0 ||
		c.body["returnable"] != true || c.body["hold_seconds"] != 3600.0 {
		t.Errorf("coupon: %v", c)
	}
	claim := func(number any) response {
		return again(t, func() response {
			return f.do("POST", fmt.Sprintf("/coupons/%s/orders?number=%v", id, number), userToken(t, 42), "")
		})
	}
	second := claim(2)
	if second.Code != 201 || second.body["number"] != 2.0 || second.body["state"] != "claimed" ||
		second.body["expires_at"] == nil {
		t.Fatalf("claim: %v", second)
	}
	if again := claim(2); again.id("order_id") != second.id("id") {
		t.Errorf("repeated: %v", again)
	}
	limit := claim(4)
	wantProblem(t, limit, 409, "limit_reached")
	if limit.body["per_user"] != 3.0 {
		t.Errorf("limit: %v", limit)
	}
	for _, bad := range []string{"0", "101", "-1", "9223372036854775808", "1.0", "01", "", "2&number=3"} {
		wantProblem(t, claim(bad), 422, "invalid_input")
	}

	use, reference := "/orders/"+second.id("id")+"/use", strings.Repeat("~", 64)
	wantProblem(t, f.do("PUT", use, userToken(t, 42), `{"reference":"till-7/4711"}`), 403, "forbidden")
	for _, bad := range []string{"", strings.Repeat("x", 65), "ü", "a\\nb"} {
		wantProblem(t, f.do("PUT", use, clerkToken(t), `{"reference":"`+bad+`"}`), 422, "invalid_input")
	}
	for range 2 {
		used := f.do("PUT", use, clerkToken(t), `{"reference":"`+reference+`"}`)
		if used.Code != 200 || used.body["state"] != "used" || used.body["reference"] != reference {
			t.Errorf("use: %v", used)
		}
	}
	other := f.do("PUT", use, adminToken(t), `{"reference":"till-8/1"}`)
	wantProblem(t, other, 409, "already_used")
	if other.body["used_at"] == nil {
		t.Errorf("another use: %v", other)
	}

	first := claim(1)
	path := "/orders/" + first.id("id")
	for _, other := range []string{userToken(t, 43), clerkToken(t)} {
		wantProblem(t, f.do("DELETE", path, other, ""), 404, "order_not_found")
	}
	for range 2 {
		if returned := f.do("DELETE", path, userToken(t, 42), ""); returned.Code != 200 ||
			returned.body["state"] != "returned" || returned.body["ended_at"] == nil {
			t.Errorf("return: %v", returned)
		}
	}
	if read := f.do("GET", path, userToken(t, 42), ""); read.body["state"] != "returned" {
		t.Errorf("read: %v", read)
	}
	if mine := f.do("GET", "/orders", userToken(t, 42), ""); len(mine.body["orders"].([]any)) != 2 {
		t.Errorf("my orders: %v", mine)
	}
	if next := claim(1); next.Code != 201 || next.id("id") == first.id("id") {
		t.Errorf("claimed again: %v", next)
	}
	audit := f.do("GET", "/coupons/"+id+"/audit", adminToken(t), "").body
	if audit["orders"] != 2.0 || audit["stock"] != 1.0 || audit["returned"] != 1.0 || audit["used"] != 1.0 ||
		audit["surplus"] != 0.0 || audit["most_per_user"] != 2.0 || audit["duplicates"] != 0.0 {
		t.Errorf("audit: %v", audit)
	}
}

// A page of orders of a coupon has all orders of each of its users.
func TestPageCutsNoUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createRuled(t, 30, `"per_user":3`)
	for user := range int64(5) {
		for number := range 3 {
			check.Eventually(t, "the lock of the claim before is released", func() bool {
				path := fmt.Sprintf("/coupons/%s/orders?number=%d", id, number+1)
				return f.do("POST", path, userToken(t, user+1), "").Code == 201
			})
		}
	}
	seen, before := 0, ""
	for {
		page := f.do("GET", "/coupons/"+id+"/orders?limit=2"+before, adminToken(t), "")
		orders := page.body["orders"].([]any)
		if len(orders)%3 != 0 {
			t.Errorf("a page of %d orders: %v", len(orders), page)
		}
		seen += len(orders)
		if page.body["next"] == nil || len(orders) == 0 {
			break
		}
		before = fmt.Sprint("&before=", page.body["next"])
	}
	if seen != 15 {
		t.Errorf("%d orders, want 15", seen)
	}
}

// An audit reads all orders of a coupon, and a sale has many.
func TestAuditHasMoreTimeThanAClaim(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 5)
	c := f.cfg
	c.Metrics, c.Timeout = prometheus.NewRegistry(), 1
	f.API = New(c)
	wantProblem(t, f.do("GET", "/coupons/"+id, adminToken(t), ""), 503, "unavailable")
	wantStatus(t, f.do("GET", "/coupons/"+id+"/audit", adminToken(t), ""), 200)
}

// Audits that take long would occupy all connections, so that no claim reads its coupon.
func TestAuditsOfACouponShareAQuery(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, admin := f.createCoupon(t, 5), adminToken(t)
	tables, err := f.db.Connx(t.Context())
	check.NoError(t, err)
	defer tables.Close()
	_, err = tables.ExecContext(t.Context(), "LOCK TABLES coupon_orders WRITE")
	check.NoError(t, err)
	const audits = 30
	var all sync.WaitGroup
	for range audits {
		all.Go(func() { wantStatus(t, f.do("GET", "/coupons/"+id+"/audit", admin, ""), 200) })
	}
	check.Eventually(t, "all wait for their audit", func() bool {
		stacks := make([]byte, 64<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		waiting := regexp.MustCompile(`batchread\.\(\*Reader\[.*\.Read\(.*\n.*\n.*\(\*API\)\.audit\(`)
		return len(waiting.FindAll(stacks, -1)) == audits
	})
	if n := f.db.Stats().InUse; n > 2 {
		t.Errorf("%d audits of one coupon occupy %d connections", audits, n-1)
	}
	_, err = tables.ExecContext(t.Context(), "UNLOCK TABLES")
	check.NoError(t, err)
	all.Wait()
}
