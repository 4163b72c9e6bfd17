package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/transaction"
	"example.com/flashsale/migrations"
)

// awaitPrepared returns when the service can serve. If ctx ends before, it waits for a
// migration that is running.
func (s *service) awaitPrepared(ctx context.Context) error {
	var err error
	prepared := make(chan struct{})
	go func() { err = s.prepare(ctx); close(prepared) }()
	select {
	case <-prepared:
		return err
	case <-ctx.Done():
	}
	select {
	case <-prepared:
		return nil
	case <-time.After(s.cfg.DrainTimeout):
		return errors.New("drain: a migration is still running; the next start repeats it")
	}
}

// prepare migrates and checks the schema, and waits until all servers that claims need
// are available. While MySQL is away or refuses the service's account, for whatever
// reason, it retries until ctx ends; it returns any other error.
func (s *service) prepare(ctx context.Context) error {
	db, err := connect.MySQL(s.cfg.MySQLDSN, 1, connect.ForMigrations)
	if err != nil {
		return fmt.Errorf("MYSQL_DSN: %w", err)
	}
	defer db.Close()
	cause := ""
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := s.prepareSchema(ctx, db)
		if err == nil {
			err = s.clock.Measure(ctx)
		}
		if err == nil {
			err = s.batches.PingContext(ctx) // the connection tells s.server what commits have to know
		}
		if err == nil {
			warnUndurable(ctx, s.log, db)
			go s.clock.Follow(ctx, s.log)
			s.orders.Sweep(func(err error) { s.log.Warn("expired orders are not ended", "error", err.Error()) })
			s.relayEvents()
			return s.awaitReady(ctx)
		}
		if !connect.IsUnavailable(err) {
			return err
		}
		if now := connect.Cause(err); now != cause {
			cause = now
			s.log.Warn("waiting for MySQL", "error", err.Error())
		}
		if ended := transaction.Pause(ctx, pause); ended != nil {
			return ended
		}
	}
}

// relayEvents publishes events until the service is closed, if it writes any.
func (s *service) relayEvents() {
	if s.relay != nil {
		s.relay.Run(func(err error) { s.log.Warn("events wait in the table", "error", explained(err).Error()) })
	}
}

// awaitReady returns when the probes succeed. They log what it waits for.
func (s *service) awaitReady(ctx context.Context) error {
	for !s.api.Ready(ctx) {
		if err := transaction.Pause(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (s *service) prepareSchema(ctx context.Context, db *sqlx.DB) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	defer time.AfterFunc(2*time.Second, func() {
		s.log.Warn("waiting for the schema: MySQL is silent, or a migration is running or locked, here or elsewhere")
	}).Stop()
	if s.cfg.Migrate {
		if err := migrations.Up(ctx, db.DB); err != nil {
			return err
		}
	}
	if err := warnNewer(ctx, s.log, db); err != nil {
		return err
	}
	return migrations.CheckGuards(ctx, db.DB, s.cfg.KeysOff()...)
}

// warnNewer logs that the schema is newer than this binary and marked as compatible
// with it, as after the return to an older version. It returns an error if the
// schema is newer and not marked.
func warnNewer(ctx context.Context, log *slog.Logger, db *sqlx.DB) error {
	version, err := migrations.Newer(ctx, db.DB)
	if version > 0 {
		log.Warn("a newer version of the service has migrated the schema; it is marked as compatible with this one",
			"schema", version)
	}
	return err
}
