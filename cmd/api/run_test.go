package main

import (
	"strings"
	"sync"
	"testing"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

var (
	mysqlOnce sync.Once
	mysqlLab  *lab.MySQL
	mysqlErr  error
)

// sharedMySQL is a server for tests that leave it alone.
func sharedMySQL(tb testing.TB) *lab.MySQL {
	tb.Helper()
	mysqlOnce.Do(func() { mysqlLab, mysqlErr = labtest.Lab(tb).MySQL() })
	if mysqlErr != nil {
		tb.Fatal(mysqlErr)
	}
	return mysqlLab
}

func TestRun(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t, nil)).ready(t)
	id := r.onSale(t, 1)

	made := r.post(t, "/coupons/"+id+"/orders", tokenFor(t, 42, false), "")
	if made.status != 201 || made.header.Get("X-Instance") != "a" {
		t.Fatalf("claim: %+v", made)
	}
	again := r.post(t, "/coupons/"+id+"/orders", tokenFor(t, 42, false), "")
	if again.status != 409 || again.body["order_id"] != made.body["id"] {
		t.Errorf("second claim: %+v", again)
	}
	late := r.post(t, "/coupons/"+id+"/orders", tokenFor(t, 43, false), "")
	if late.status != 409 || late.body["code"] != "sold_out" {
		t.Errorf("claim of another: %+v", late)
	}
	metrics := r.get(t, "/metrics", "").text
	for _, want := range []string{`flashsale_claims_total{verdict="made"} 1`, `redis_pool_connections{state=`, `go_sql_open_connections{db_name="mysql"}`, `go_goroutines `} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}
