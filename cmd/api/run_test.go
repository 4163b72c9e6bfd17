package main

import (
	"io"
	"maps"
	"net"
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
}

// The service is stopped while a claim waits for a row that the test has locked.
func TestDrainServesRequestsInFlight(t *testing.T) {
	t.Parallel()
	env := environ(t, map[string]string{"DRAIN_DELAY": "300ms"})
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
	eventually(t, func() bool { return refused(i.url) })
	select {
	case err := <-i.done:
		t.Fatalf("the service ended with a claim in flight: %v", err)
	default:
	}
	check.NoError(t, tx.Commit())
	wantStatus(t, <-claimed, 201)
	if err := <-i.done; err != nil {
		t.Error(err)
	}
}

// refused reports whether nothing listens at url.
func refused(url string) bool {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
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
	taken["HTTP_ADDR"] = strings.TrimPrefix(i.url, "http://")
	err := run(t.Context(), nil, from(taken), io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "HTTP_ADDR") {
		t.Errorf("got %v", err)
	}
}
