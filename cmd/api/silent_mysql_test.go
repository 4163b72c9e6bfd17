package main

import (
	"context"
	"io"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
)

// The network of one process drops everything from the middle of a migration on. The process
// ends, and an instance with a working network migrates before that.
func TestMigrationEndsInASilentNetworkAndHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	migrate := func(parameters string) (direct string, ended <-chan error) {
		proxy, dsn, direct := proxiedMySQL(t)
		proxy.PartitionBefore("CREATE TABLE IF NOT EXISTS coupon_orders")
		ended = check.Begin(func() error {
			env := from(map[string]string{"MYSQL_DSN": dsn + parameters})
			return run(context.Background(), []string{"migrate"}, env, io.Discard, io.Discard)
		})
		eventually(t, proxy.Partitioned)
		return direct, ended
	}
	_, ended := migrate("")
	direct, waits := migrate("?readTimeout=1h")
	start(t, environ(t, map[string]string{"MYSQL_DSN": direct, "DRAIN_TIMEOUT": "1s"})).ready(t)
	if len(waits) > 0 {
		t.Error("the other instance was not ready before the process had ended")
	}
	if err := check.Receive(t, "the migration ends", ended); err == nil {
		t.Error("the migration succeeded without a network")
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
