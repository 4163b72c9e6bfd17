package soak

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// migrationTime is longer than golang-migrate waits for another process (10 s).
const migrationTime = 11 * time.Second

// firstStarts starts two instances on an empty database. The first is partitioned
// from MySQL in its migration, so the second has to wait for it. Then the first
// loses its connection. Both must become ready. The sale continues meanwhile.
func (r *run) firstStarts() fault {
	databases := 0
	var proxy *faultproxy.Proxy
	started := make(chan error, 2)
	return fault{
		what:  "first start partitioned from MySQL in its migration, and another one that waits for it",
		lasts: migrationTime,
		strike: func(ctx context.Context) error {
			databases++
			dsn, err := r.stack.MySQL.Create(ctx, fmt.Sprintf("first_start_%d", databases))
			if err != nil {
				return err
			}
			if proxy, err = mysqlProxy(dsn); err != nil {
				return err
			}
			proxied, err := through(proxy, dsn)
			if err != nil {
				return err
			}
			proxy.PartitionBefore("coupon_orders")
			go func() { started <- r.startOnce("c", proxied) }()
			awaitPartition(ctx, proxy)
			go func() { started <- r.startOnce("d", dsn) }()
			return nil
		},
		heal: func() error {
			proxy.Heal()
			for range 2 {
				if err := <-started; err != nil {
					r.violations.add("first start: %v", err)
				}
			}
			return proxy.Close()
		},
	}
}

// startOnce starts an instance that migrates the database, and stops it when it
// is ready.
func (r *run) startOnce(name, dsn string) error {
	path, err := rig.Binary("api")
	if err != nil {
		return err
	}
	api, err := lab.StartAPI(r.stack.Lab, path, name, "MYSQL_DSN="+dsn, "REDIS_URL="+r.sale.RedisURL,
		"JWT_SECRET="+r.stack.Secret,
		"MIGRATE=true", "LOG_LEVEL=warn")
	if err != nil {
		return fmt.Errorf("instance %s: %w", name, err)
	}
	if err := api.Stop(); err != nil {
		return errors.Join(fmt.Errorf("instance %s", name), err)
	}
	return nil
}
