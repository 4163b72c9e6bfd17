package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/transaction"
	"example.com/flashsale/migrations"
)

// guards knows whether the database guarded the sale when it was last looked at.
type guards struct {
	db      *sqlx.DB
	without []string // unique keys that the lab has removed
	looked  time.Time
	missing atomic.Pointer[error]
}

const (
	lookInterval = time.Second
	// confirmPause is the time before the look that confirms a finding: MariaDB
	// shows no table while a statement exchanges it for another.
	confirmPause = 100 * time.Millisecond
)

// check is a probe, and as such not called twice at a time: it looks at the guards if the last look is
// old, and returns what is missing.
func (g *guards) check(ctx context.Context) error {
	if time.Since(g.looked) >= lookInterval {
		g.looked = time.Now()
		g.look(ctx)
	}
	return g.found()
}

// look looks at the guards. A look that fails decides nothing.
func (g *guards) look(ctx context.Context) {
	err := migrations.CheckGuards(ctx, g.db.DB, g.without...)
	if errors.Is(err, migrations.ErrUnguarded) && g.found() == nil {
		_ = transaction.Pause(ctx, confirmPause)
		err = migrations.CheckGuards(ctx, g.db.DB, g.without...)
	}
	switch {
	case err == nil:
		g.missing.Store(nil)
	case errors.Is(err, migrations.ErrUnguarded):
		g.missing.Store(&err)
	}
}

// found returns what the last look found missing.
func (g *guards) found() error {
	if err := g.missing.Load(); err != nil {
		return *err
	}
	return nil
}

// guarded commits nothing while a guard is missing.
type guarded struct {
	order.Committer
	guards *guards
}

// Commit implements order.Committer.
func (g guarded) Commit(ctx context.Context, s order.Segment, o order.Order) error {
	if err := g.guards.found(); err != nil {
		return err
	}
	return g.Committer.Commit(ctx, s, o)
}
