package main

import (
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
)

// The network to MySQL drops everything from the middle of a claim on. Claims
// still get a response in time, and SIGTERM still ends the service in time.
func TestDrainEndsInTimeAlthoughMySQLIsSilent(t *testing.T) {
	t.Parallel()
	for commit, request := range map[string]string{"each": "\x03COMMIT", "grouped": "\x03START TRANSACTION"} {
		t.Run(commit, func(t *testing.T) {
			t.Parallel()
			cfg, err := mysql.ParseDSN(labtest.EmptyDatabase(t, labtest.SharedMySQL(t)))
			if err != nil {
				t.Fatal(err)
			}
			proxy, err := faultproxy.New(cfg.Net, cfg.Addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = proxy.Close() })
			cfg.Net, cfg.Addr = "tcp", proxy.Addr()
			const claimTimeout, drainTimeout = 600 * time.Millisecond, 6 * time.Second
			i := start(t, settings(t, map[string]string{
				"MYSQL_DSN": cfg.FormatDSN(), "COMMIT": commit,
				"CLAIM_TIMEOUT": claimTimeout.String(), "DRAIN_TIMEOUT": drainTimeout.String(),
			})).ready(t)
			id := i.createCoupon(t, 10)

			heal := time.AfterFunc(15*time.Second, proxy.Heal) // lets a failing test end
			defer heal.Stop()
			proxy.PartitionBefore(request)
			for user := range int64(3) {
				r := i.post(t, "/coupons/"+id+"/orders", tokenFor(t, user+1, auth.RoleUser), "")
				if r.status != 503 || r.took > claimTimeout+time.Second {
					t.Errorf("claim: status %d after %s", r.status, r.took)
				}
			}
			i.stop()
			select {
			case err := <-i.done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(drainTimeout + 500*time.Millisecond):
				t.Error("the drain takes longer than DRAIN_TIMEOUT")
			}
		})
	}
}
