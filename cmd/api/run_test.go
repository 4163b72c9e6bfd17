package main

import (
	"io"
	"maps"
	"net"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
)

// The dashboards have the others.
func TestMetricsTellWhatRuns(t *testing.T) {
	t.Parallel()
	metrics := start(t, environ(t, nil)).get(t, "/metrics", "").text
	for _, want := range []string{"\ngo_goroutines ", "\nprocess_resident_memory_bytes ",
		`flashsale_build_info{goversion="` + runtime.Version() + `",version="unknown"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	connected := regexp.MustCompile(`go_sql_(open_connections|max_idle_time_closed_total)\{db_name="mysql_batches"\} 1`)
	if !connected.MatchString(metrics) {
		t.Error("before the first claim it is not known whether the server of batches is sharded")
	}
}

// The service is stopped while a claim waits for a row that the test has locked.
func TestDrainServesRequestsInFlight(t *testing.T) {
	t.Parallel()
	env := environ(t, map[string]string{"DRAIN_DELAY": "300ms", "CLAIM_TIMEOUT": "20s"}) // a busy machine stalls
	i := start(t, env).ready(t)
	id := i.createCoupon(t, 1)
	db := labtest.Open(t, env["MYSQL_DSN"])
	tx := db.MustBegin()
	tx.MustExec("UPDATE coupons SET version = version + 1 WHERE id = ?", id)

	claimed := make(chan response)
	go func() { claimed <- i.post(t, "/coupons/"+id+"/orders", tokenFor(t, 42, auth.RoleUser), "") }()
	eventually(t, func() bool { // the claim waits for the row
		return labtest.Executing(t, db, "UPDATE coupons%SET stock%") == 1
	})

	i.stop()
	eventually(t, func() bool { return i.get(t, "/readyz", "").status == 503 })
	eventually(t, func() bool { return refused(i.address()) })
	select {
	case err := <-i.done:
		t.Fatalf("the service ended with a claim in flight: %v", err)
	default:
	}
	check.NoError(t, tx.Commit())
	wantStatus(t, <-claimed, 201)
	check.NoError(t, <-i.done)
}

// refused reports whether nothing listens at an address.
func refused(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return true
	}
	_ = conn.Close()
	return false
}

func TestTakenAddressIsAnError(t *testing.T) {
	t.Parallel()
	env := environ(t, nil)
	i := start(t, env)
	taken := maps.Clone(env)
	taken["HTTP_ADDR"] = i.address()
	err := run(t.Context(), nil, from(taken), io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "HTTP_ADDR") {
		t.Errorf("got %v", err)
	}
}

func TestLimitsComeFromTheSettings(t *testing.T) {
	t.Parallel()
	i := start(t, environ(t, map[string]string{
		"USER_RATE": "0.001", "USER_BURST": "2", "ADDRESS_RATE": "0.001", "ADDRESS_BURST": "1000",
		"TRUSTED_PROXIES": "127.0.0.0/8,::1/128", "CORS_ORIGINS": "https://shop.example",
	})).ready(t)
	user, other := tokenFor(t, 42, auth.RoleUser), tokenFor(t, 43, auth.RoleUser)
	for _, want := range []int{404, 404, 429} {
		wantStatus(t, i.post(t, "/coupons/7/orders", user, ""), want)
	}
	r := i.post(t, "/coupons/7/orders", other, "")
	wantStatus(t, r, 404)
	if r.header.Get("Vary") != "Origin" { // as only what other origins may read
		t.Errorf("headers %v", r.header)
	}
	served := 0
	for served <= 1000 && i.get(t, "/made-up-path", "").status != 429 { // one refusal is enough: each takes a second
		served++
	}
	if served < 900 || served > 1000 { // some were served until the instance was ready
		t.Errorf("%d requests of a stranger were served, want about 1000", served)
	}
}
