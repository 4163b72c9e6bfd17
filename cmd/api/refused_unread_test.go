package main

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/lab/labtest"
)

// If net/http had read the claim, the response would have a Date. The connection stays open, until the
// instance has been told to end: a load balancer must not find it closed.
func TestClaimOfAnOverloadedCouponIsRefusedUnread(t *testing.T) {
	t.Parallel()
	dsn := labtest.EmptyDatabase(t, labtest.SharedMySQL(t))
	i := start(t, settings(t, map[string]string{"MYSQL_DSN": dsn, "HTTP_CONNS": "64", "CLAIM_TIMEOUT": "1m",
		"DRAIN_DELAY": "5s"})).ready(t)
	id := i.createCoupon(t, 100)
	i.overload(t, dsn, id)
	var one http.Client
	one.Transport = &http.Transport{MaxConnsPerHost: 1}
	claim := func() *http.Response { return claimBy(t, &one, i.url, id) }
	eventually(t, func() bool { // the first request of a connection is read
		r := claim()
		return r.StatusCode == 503 && r.Header.Get("Date") == ""
	})
	r := claim()
	if r.StatusCode != 503 || r.Close || r.Header.Get("Date") != "" || r.Header.Get("Retry-After") == "" {
		t.Errorf("the next one on the connection: %+v", r)
	}
	i.stop()
	eventually(t, func() bool { return strings.Contains(i.log.String(), `"draining"`) })
	if r := claim(); r.StatusCode != 503 || !r.Close {
		t.Errorf("the next one while the instance drains: %+v", r)
	}
}

// overload locks the coupon's row until the test ends, and claims until others are
// refused.
func (i *instance) overload(t *testing.T, dsn, coupon string) {
	t.Helper()
	tx := labtest.Open(t, dsn).MustBegin()
	tx.MustExec(`SELECT id FROM coupons WHERE id = ? FOR UPDATE`, coupon)
	var claims sync.WaitGroup
	t.Cleanup(func() {
		_ = tx.Rollback()
		claims.Wait()
	})
	for user := range int64(20) {
		claims.Go(func() { i.post(t, "/coupons/"+coupon+"/orders", tokenFor(t, 1+user, auth.RoleUser), "") })
	}
	eventually(t, func() bool {
		return !strings.Contains(i.get(t, "/metrics", "").text, `flashsale_claims_total{verdict="overloaded"} 0`+"\n")
	})
}

func claimBy(t *testing.T, client *http.Client, url, coupon string) *http.Response {
	t.Helper()
	req, err := http.NewRequest("POST", url+"/coupons/"+coupon+"/orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+tokenFor(t, 1000, auth.RoleUser))
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp
}
