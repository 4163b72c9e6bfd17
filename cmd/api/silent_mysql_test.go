package main

import (
	"context"
	"io"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
)

// The network of one process drops everything from the middle of a migration on.
// The process ends, and an instance with a working network migrates before that.
func TestMigrationEndsInASilentNetworkAndHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	proxy, dsn, direct := proxiedMySQL(t)
	migrate := func(dsn string) <-chan error {
		proxy.Heal()
		proxy.PartitionBefore("CREATE TABLE IF NOT EXISTS coupon_orders")
		ended := make(chan error, 1)
		go func() {
			ended <- run(context.Background(), []string{"migrate"}, from(map[string]string{"MYSQL_DSN": dsn}),
				io.Discard, io.Discard)
		}()
		eventually(t, proxy.Partitioned)
		return ended
	}
	if err := check.Receive(t, "the migration ends", migrate(dsn)); err == nil {
		t.Error("the migration succeeded without a network")
	}
	ended := migrate(dsn + "?readTimeout=1h")
	start(t, environ(t, map[string]string{"MYSQL_DSN": direct, "DRAIN_TIMEOUT": "1s"})).ready(t)
	if len(ended) > 0 {
		t.Error("the other instance was not ready before the process had ended")
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
