package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/settings"
	"example.com/flashsale/internal/transaction"
	"example.com/flashsale/migrations"
)

// guards knows whether the database guarded the sale when it was last looked at.
type guards struct {
	db      *sqlx.DB
	without []string // unique keys that the lab has removed
	missing atomic.Pointer[error]
	ctx     context.Context // ends at close
	cancel  context.CancelFunc
	looks   sync.WaitGroup
}

const (
	lookPause = time.Second
	// lookTimeout bounds a look, which keeps the probe of MySQL waiting.
	lookTimeout = time.Second
	// confirmPause is the time before the look that confirms a finding: MariaDB
	// shows no table while a statement exchanges it for another.
	confirmPause = 100 * time.Millisecond
)

func newGuards(cfg settings.Settings, db *sqlx.DB) *guards {
	g := &guards{db: db, without: cfg.KeysOff()}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// watch looks at the guards until close is called. It calls changed when they are
// missing or back.
func (g *guards) watch(changed func(context.Context)) {
	g.looks.Go(func() {
		for transaction.Pause(g.ctx, lookPause) == nil {
			before := g.check(g.ctx)
			g.look()
			if (g.check(g.ctx) == nil) != (before == nil) {
				changed(g.ctx)
			}
		}
	})
}

// look looks at the guards. A look that fails decides nothing.
func (g *guards) look() {
	err := g.ask()
	if errors.Is(err, migrations.ErrUnguarded) && g.check(g.ctx) == nil {
		_ = transaction.Pause(g.ctx, confirmPause)
		err = g.ask()
	}
	switch {
	case err == nil:
		g.missing.Store(nil)
	case errors.Is(err, migrations.ErrUnguarded):
		g.missing.Store(&err)
	}
}

func (g *guards) ask() error {
	ctx, cancel := context.WithTimeout(g.ctx, lookTimeout)
	defer cancel()
	return migrations.CheckGuards(ctx, g.db.DB, g.without...)
}

// check is a probe: it returns what the last look found missing.
func (g *guards) check(context.Context) error {
	if err := g.missing.Load(); err != nil {
		return *err
	}
	return nil
}

func (g *guards) close() {
	g.cancel()
	g.looks.Wait()
}

// guarded commits nothing while a guard is missing.
type guarded struct {
	order.Committer
	guards *guards
}

// Commit implements order.Committer.
func (g guarded) Commit(ctx context.Context, s order.Segment, o order.Order) error {
	if err := g.guards.check(ctx); err != nil {
		return err
	}
	return g.Committer.Commit(ctx, s, o)
}
