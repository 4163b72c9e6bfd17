package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/migrations"
)

// prepare opens the API when the database is as the promises need it. While
// MySQL is away it waits, since it was asked to serve and can do so later; any
// other trouble is an error.
func (s *service) prepare(ctx context.Context, cfg config) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := prepareSchema(ctx, cfg, s.db)
		if err == nil {
			s.api.Open()
			s.log.Info("ready")
			return nil
		}
		if !connect.Away(err) {
			return err
		}
		s.log.Warn("waiting for MySQL", "error", err.Error())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func prepareSchema(ctx context.Context, cfg config, db *sqlx.DB) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if cfg.Migrate {
		if err := migrations.Up(ctx, db.DB); err != nil {
			return err
		}
	}
	return checkOneEach(ctx, cfg, db)
}

var errNoUniqueKey = errors.New("the table coupon_orders has no unique key one_each (coupon_id, user_id): nothing would keep a user from a second order (api migrate makes it)")

// checkOneEach refuses a database without the key that keeps one order for
// each user, unless the lab took it away on purpose.
func checkOneEach(ctx context.Context, cfg config, db *sqlx.DB) error {
	const q = `SELECT COUNT(*) FROM information_schema.statistics
		WHERE table_schema = DATABASE() AND table_name = 'coupon_orders'
		  AND index_name = 'one_each' AND non_unique = 0 AND column_name IN ('coupon_id', 'user_id')`
	var columns int
	if err := db.GetContext(ctx, &columns, q); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if columns != 2 && !slices.Contains(cfg.GuardsOff, "unique") {
		return errNoUniqueKey
	}
	return nil
}
