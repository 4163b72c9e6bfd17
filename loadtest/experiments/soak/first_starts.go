package soak

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
)

// migrationTime is longer than golang-migrate waits for another process (10 s).
const migrationTime = 11 * time.Second

// firstStarts starts two instances on an empty database. The first is partitioned
// from MySQL in its migration, so the second has to wait for it. Then the first
// loses its connection. Both must become ready. The sale continues meanwhile.
func firstStarts(m *market) fault.Fault {
	databases := 0
	var proxy *faultproxy.Proxy
	started := make(chan error, 2)
	return fault.Fault{
		Name:  "first start partitioned from MySQL in its migration, and another one that waits for it",
		Lasts: migrationTime,
		Strike: func(ctx context.Context) error {
			databases++
			dsn, err := m.stack.MySQL.Create(ctx, fmt.Sprintf("first_start_%d", databases))
			if err != nil {
				return err
			}
			var proxied string
			if proxy, proxied, err = fault.ProxyMySQL(dsn); err != nil {
				return err
			}
			proxy.PartitionBefore("coupon_orders")
			go func() { started <- startOnce(m.Sale, "c", proxied) }()
			awaitPartition(ctx, proxy)
			go func() { started <- startOnce(m.Sale, "d", dsn) }()
			return nil
		},
		Heal: func() error {
			proxy.Heal()
			for range 2 {
				if err := <-started; err != nil {
					m.Violations.Add("first start: %v", err)
				}
			}
			return proxy.Close()
		},
	}
}

// startOnce starts an instance that migrates the database, and stops it when it
// is ready.
func startOnce(sale *rig.Sale, name, dsn string) error {
	api, err := sale.StartInstance("api", name, "MYSQL_DSN="+dsn, "MIGRATE=true")
	if err == nil {
		err = api.Stop()
	}
	if err != nil {
		return fmt.Errorf("instance %s: %w", name, err)
	}
	return nil
}
