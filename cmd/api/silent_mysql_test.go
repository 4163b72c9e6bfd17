package main

import (
	"context"
	"io"
	"testing"
	"time"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
)

// The network to MySQL drops everything from the middle of a claim on. Claims
// still get a response in time, and SIGTERM still ends the service in time.
func TestDrainEndsInTimeAlthoughMySQLIsSilent(t *testing.T) {
	t.Parallel()
	for _, commit := range []string{"each", "grouped"} {
		t.Run(commit, func(t *testing.T) {
			t.Parallel()
			proxy, dsn, _ := proxiedMySQL(t)
			const claimTimeout, drainTimeout = 600 * time.Millisecond, 6 * time.Second
			i := start(t, environ(t, map[string]string{
				"MYSQL_DSN": dsn, "COMMIT": commit,
				"CLAIM_TIMEOUT": claimTimeout.String(), "DRAIN_TIMEOUT": drainTimeout.String(),
			})).ready(t)
			id := i.createCoupon(t, 10)

			const late = 5 * time.Second                       // of a busy machine
			heal := time.AfterFunc(40*time.Second, proxy.Heal) // lets a failing test end
			defer heal.Stop()
			proxy.PartitionBefore("\x03COMMIT")
			for user := range int64(3) {
				r := i.post(t, "/coupons/"+id+"/orders", tokenFor(t, user+1, auth.RoleUser), "")
				if r.status != 503 || r.took > claimTimeout+late {
					t.Errorf("claim: status %d after %s", r.status, r.took)
				}
			}
			i.stop()
			select {
			case err := <-i.done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(drainTimeout + late):
				t.Error("the drain takes longer than DRAIN_TIMEOUT")
			}
		})
	}
}

// The network of one process drops everything from the middle of a migration on.
// The process ends, and an instance with a working network migrates long before
// that.
func TestMigrationEndsInASilentNetworkAndHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	proxy, dsn, direct := proxiedMySQL(t)
	proxy.PartitionBefore("CREATE TABLE IF NOT EXISTS coupon_orders")
	ended := make(chan error, 1)
	go func() {
		ended <- run(context.Background(), []string{"migrate"}, from(map[string]string{"MYSQL_DSN": dsn}),
			io.Discard, io.Discard)
	}()
	eventually(t, proxy.Partitioned)
	begin := time.Now()
	start(t, environ(t, map[string]string{"MYSQL_DSN": direct, "DRAIN_TIMEOUT": "1s"})).ready(t)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the other instance was ready after %s", took)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the migration succeeded without a network")
		}
	case <-time.After(25*time.Second - time.Since(begin)):
		t.Error("the migration has not ended")
	}
}

// proxiedMySQL returns an empty database behind a proxy: the DSN through the proxy,
// and the one of the server itself.
func proxiedMySQL(t *testing.T) (p *faultproxy.Proxy, dsn, direct string) {
	t.Helper()
	direct = labtest.EmptyDatabase(t, labtest.SharedMySQL(t))
	p, dsn = labtest.ProxiedMySQL(t, direct)
	return p, dsn, direct
}
