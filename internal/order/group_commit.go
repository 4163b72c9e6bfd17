package order

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
)

// groupCommit commits the claims of one coupon together. A hot coupon is one row:
// with a transaction for each claim, claims follow one another at the pace of
// the disk; here whatever gathers while one transaction commits goes into the
// next, so that the pace is paid once for all of them. An idle service waits
// for nothing: the first claim is a batch of one.
//
// Every caller waits for the answer to its own claim, which is as durable as
// that of each. Claims are made in the order in which they arrived; one that is
// refused costs no other; a batch that the stock does not cover sells what is
// left. It is the same idea as the engine's own group commit, one level up.
type groupCommit struct {
	db      *sqlx.DB
	batches *sqlx.DB // takes several statements at once

	mu      sync.Mutex
	lanes   map[int64][]*claim // waiting claims, by coupon; a lane exists while it is served
	waiting int
	closed  bool
	serving sync.WaitGroup
}

// A claim waits in a lane for its outcome.
type claim struct {
	Order
	ctx     context.Context
	outcome chan error // has room for the one answer: nobody waits for a caller that left
}

const (
	// maxBatch bounds a transaction: beyond a few hundred rows its length
	// costs more than its commit saves.
	maxBatch = 512
	// maxWaiting bounds the queue: what would wait longer than its deadline
	// is better refused at once.
	maxWaiting = 16384
	// batchTimeout bounds a transaction, whose callers have deadlines of
	// their own.
	batchTimeout = 5 * time.Second
)

var errRefused = errors.New("too many claims are waiting, or the service ends")

func newGroupCommit(db, batches *sqlx.DB) *groupCommit {
	return &groupCommit{db: db, batches: batches, lanes: map[int64][]*claim{}}
}

// Commit returns when o is on disk or refused, or with the cause of ctx: o is
// then made or not, but never half, and not at all if its turn had not come.
func (g *groupCommit) Commit(ctx context.Context, o Order) error {
	c := &claim{Order: o, ctx: ctx, outcome: make(chan error, 1)}
	if !g.enter(c) {
		return errRefused
	}
	select {
	case err := <-c.outcome:
		return err
	case <-ctx.Done():
		return fmt.Errorf("waiting for the commit: %w", context.Cause(ctx))
	}
}

// Close refuses what comes from now on, and returns when no transaction is
// under way.
func (g *groupCommit) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.serving.Wait()
}

// enter queues c, and has its lane served if nobody does.
func (g *groupCommit) enter(c *claim) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.waiting == maxWaiting {
		return false
	}
	g.waiting++
	lane, served := g.lanes[c.CouponID]
	g.lanes[c.CouponID] = append(lane, c)
	if !served {
		g.serving.Go(func() { g.serve(c.CouponID) })
	}
	return true
}

// serve commits batch after batch of a coupon until none waits.
func (g *groupCommit) serve(couponID int64) {
	for batch := g.next(couponID); len(batch) > 0; batch = g.next(couponID) {
		g.answer(couponID, batch)
	}
}

// next takes what has gathered, without the claims whose callers have left.
// It closes the lane when nothing has.
func (g *groupCommit) next(couponID int64) []*claim {
	g.mu.Lock()
	defer g.mu.Unlock()
	lane := g.lanes[couponID]
	var batch []*claim
	for len(lane) > 0 && len(batch) < maxBatch {
		if lane[0].ctx.Err() == nil {
			batch = append(batch, lane[0])
		}
		lane = lane[1:]
		g.waiting--
	}
	if len(batch) == 0 {
		delete(g.lanes, couponID)
	} else {
		g.lanes[couponID] = lane
	}
	return batch
}

// answer commits a batch and tells each claim what became of it.
func (g *groupCommit) answer(couponID int64, claims []*claim) {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	b := &batch{couponID: couponID, claims: claims}
	err := g.settle(ctx, b, b.atOnce(ctx, g.batches))
	if errors.Is(err, errNotAtOnce) || errors.Is(err, errRolledBack) && answered(err) {
		err = g.settle(ctx, b, retried(ctx, func() error {
			return inTx(ctx, g.db, func(tx *sqlx.Tx) error { return b.run(ctx, tx) })
		}))
	}
	for _, c := range claims {
		if err != nil {
			c.outcome <- err // refusals were read in a transaction that is gone
		} else {
			c.outcome <- b.refused[c.ID]
		}
	}
}

// settle finds out what an unanswered commit has done.
func (g *groupCommit) settle(ctx context.Context, b *batch, err error) error {
	switch {
	case errors.Is(err, errCommit):
		return resolve(ctx, g.db, b.won[0].ID, err)
	case errors.Is(err, errNothingWon):
		return nil
	}
	return err
}
