package httpapi

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
)

// addOrders inserts orders of the users 1 to n.
func (f *fixture) addOrders(tb testing.TB, couponID string, n int) {
	tb.Helper()
	f.db.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at)
		SELECT (1 << 40) - n * 7919 % ?, ?, n, '2026-11-11' FROM `+labtest.Numbers(n), max(1, n), couponID)
}

// users returns the users of orders, which are documents of JSON.
func users(orders []any) (users []string) {
	for _, o := range orders {
		users = append(users, o.(map[string]any)["user_id"].(string))
	}
	return users
}

// With a table of many orders, a page must not sort those of its coupon.
func TestPageOfOrdersIsReadByTheUniqueKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 5)
	f.addOrders(t, id, 20_000)
	f.db.MustExec("ANALYZE TABLE coupon_orders")
	const read = "Handler_read_%" // rows
	for _, path := range []string{"?limit=100", "?limit=100&before=10000"} {
		before := labtest.SessionStatus(t, f.db, read)
		wantStatus(t, f.do("GET", "/coupons/"+id+"/orders"+path, adminToken(t), ""), 200)
		if n := labtest.SessionStatus(t, f.db, read) - before; n > 1000 {
			t.Errorf("%s read %d rows", path, n)
		}
	}
}

// An export is what a client has read of one.
type export struct {
	orders []any
	end    map[string]any // the last line; nil if it is missing
	err    error
}

// export exports the orders of a coupon over the network. It calls each, if it is not
// nil, after each order.
func (f *fixture) export(tb testing.TB, address, couponID string, each func(n int)) (e export) {
	tb.Helper()
	req, err := http.NewRequest("GET", "http://"+address+"/coupons/"+couponID+"/orders.ndjson", nil)
	check.NoError(tb, err)
	req.Header.Set("Authorization", "Bearer "+adminToken(tb))
	resp, err := http.DefaultClient.Do(req)
	check.NoError(tb, err)
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/x-ndjson" {
		tb.Fatalf("%s, %s", resp.Status, resp.Header)
	}
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				e.err = err
			}
			return e
		}
		var document map[string]any
		if err := json.Unmarshal(line, &document); err != nil {
			tb.Fatalf("%q: %v", line, err)
		}
		if _, order := document["id"]; !order {
			e.end = document
			continue
		}
		e.orders = append(e.orders, document)
		if each != nil {
			each(len(e.orders))
		}
	}
}

func TestExportHasEveryOrderAndTheirNumber(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, n := range []int{0, 1, exportPage - 1, exportPage, exportPage + 1, 2*exportPage + 7} {
		id := f.createCoupon(t, 5)
		f.db.MustExec("DELETE FROM coupon_orders") // the ids are the same
		f.addOrders(t, id, n)
		e := f.export(t, f.serve(t), id, nil)
		if e.err != nil || len(e.orders) != n || e.end == nil || e.end["orders"] != float64(n) {
			t.Errorf("%d orders: %d, then %v, %v", n, len(e.orders), e.end, e.err)
		}
		for i, user := range users(e.orders) {
			if user != fmt.Sprint(n-i) {
				t.Fatalf("order %d of %d is of user %s", i, n, user)
			}
		}
	}
	wantProblem(t, f.do("GET", "/coupons/7/orders.ndjson", adminToken(t), ""), 404, "coupon_not_found")
	if r := f.do("HEAD", "/coupons/"+f.createCoupon(t, 1)+"/orders.ndjson", adminToken(t), ""); r.Code != 200 ||
		r.Body.Len() > 0 {
		t.Errorf("HEAD: %v", r)
	}
}

// The client sees both a broken body and no last line, and the log has the reason.
func TestExportThatBreaksOffIsNoticed(t *testing.T) {
	t.Parallel()
	for name, breakOff := range map[string]func(*fixture){
		"the database fails": func(f *fixture) { _ = f.db.Close() },
		"the instance stops": func(f *fixture) { f.Drain() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			id := f.createCoupon(t, 5)
			f.addOrders(t, id, 60*exportPage) // more than the buffers of the network hold
			e := f.export(t, f.serve(t), id, func(n int) {
				if n == 10 {
					breakOff(f)
				}
			})
			if e.err == nil || e.end != nil || len(e.orders) == 60*exportPage {
				t.Errorf("%d orders, then %v, %v", len(e.orders), e.end, e.err)
			}
			if failed := name == "the database fails"; strings.Contains(f.log.String(), exportRoute) != failed {
				t.Errorf("logged: %s", f.log)
			}
		})
	}
}

// While the client does not read, the export holds neither a connection to MySQL nor
// all orders in memory; and it is not cut off by the times of a short request.
func TestExportWaitsForItsClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 5)
	f.addOrders(t, id, 60*exportPage)
	server := httptest.NewUnstartedServer(f)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 2*time.Second, 2*time.Second
	server.Start()
	t.Cleanup(server.Close)
	e := f.export(t, server.Listener.Addr().String(), id, func(n int) {
		if n == 10 {
			time.Sleep(2500 * time.Millisecond) // longer than both
			check.Eventually(t, "no connection in use", func() bool { return f.db.Stats().InUse == 0 })
		}
	})
	if e.err != nil || len(e.orders) != 60*exportPage || e.end == nil {
		t.Errorf("%d orders, then %v, %v", len(e.orders), e.end, e.err)
	}
}
