package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
)

// groupCommit commits the claims of one coupon in shared transactions. A hot
// coupon is one row, so with a transaction per claim the disk's commit latency
// bounds the claims per second. Here the claims that arrive while a transaction
// commits form the next batch, and share its commit. InnoDB's own group commit
// does the same for transactions. The first claim of an idle service does not
// wait: it is a batch of one.
//
// Commit returns when its own order is durable, as with PerClaim. Claims win the
// stock in order of arrival. A refused claim does not fail its batch, and a
// batch larger than the stock sells all that is left.
type groupCommit struct {
	db      *sqlx.DB
	batchDB *sqlx.DB // opened with multi-statements
	ended   func(Transaction)

	mu         sync.Mutex
	queues     map[int64][]*claim // by coupon; a queue exists while its committer goroutine runs
	closed     bool
	committers sync.WaitGroup
}

// A claim is queued until its result is known.
type claim struct {
	Order
	ctx    context.Context
	result chan error // buffered: sending does not block if the caller has returned
}

const (
	// maxBatch bounds a transaction: beyond a few hundred rows its length
	// costs more than the shared commit saves.
	maxBatch = 512
	// batchTimeout bounds a transaction. Its claims have deadlines of their
	// own. Together with resolveTimeout it is how long a silent server can
	// delay the next batch.
	batchTimeout = 3 * time.Second
)

var errClosed = errors.New("the service is shutting down")

func newGroupCommit(c Config) *groupCommit {
	return &groupCommit{db: c.DB, batchDB: c.BatchDB, ended: c.Observer.Ended, queues: map[int64][]*claim{}}
}

// Commit blocks until o is durable or refused, or until ctx ends. If ctx ends
// while o is queued, o is not committed; if it ends later, o may be committed.
func (g *groupCommit) Commit(ctx context.Context, o Order) error {
	c := &claim{Order: o, ctx: ctx, result: make(chan error, 1)}
	if !g.enqueue(c) {
		return errClosed
	}
	select {
	case err := <-c.result:
		return err
	case <-ctx.Done():
		g.dequeue(c)
		return fmt.Errorf("waiting for the commit: %w", context.Cause(ctx))
	}
}

// Close makes Commit refuse further orders, and returns when the queued ones
// are committed or refused.
func (g *groupCommit) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.committers.Wait()
}

// enqueue appends c to its coupon's queue, and starts the committer goroutine
// of a new queue. It returns false after Close. The slots of Claims bound the
// queues.
func (g *groupCommit) enqueue(c *claim) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	queue, running := g.queues[c.CouponID]
	g.queues[c.CouponID] = append(queue, c)
	if !running {
		g.committers.Go(func() { g.commitQueue(c.CouponID) })
	}
	return true
}

// dequeue removes c if it is still queued. While a coupon's batch waits for a
// lock, its queue would otherwise grow with each claim that gives up.
func (g *groupCommit) dequeue(c *claim) {
	g.mu.Lock()
	defer g.mu.Unlock()
	queue := g.queues[c.CouponID]
	if i := slices.Index(queue, c); i >= 0 {
		g.queues[c.CouponID] = slices.Delete(queue, i, i+1)
	}
}

// commitQueue commits batches of a coupon until its queue is empty.
func (g *groupCommit) commitQueue(couponID int64) {
	for claims := g.nextBatch(couponID); len(claims) > 0; claims = g.nextBatch(couponID) {
		g.commitBatch(couponID, claims)
	}
}

// nextBatch removes up to maxBatch claims from a queue and returns them without
// those whose context has ended. It deletes the queue when none is left.
func (g *groupCommit) nextBatch(couponID int64) []*claim {
	g.mu.Lock()
	defer g.mu.Unlock()
	queue := g.queues[couponID]
	var claims []*claim
	for len(queue) > 0 && len(claims) < maxBatch {
		if queue[0].ctx.Err() == nil {
			claims = append(claims, queue[0])
		}
		queue = queue[1:]
	}
	if len(claims) == 0 {
		delete(g.queues, couponID)
	} else {
		g.queues[couponID] = queue
	}
	return claims
}

// commitBatch commits claims and sends each its result.
func (g *groupCommit) commitBatch(couponID int64, claims []*claim) {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	start := time.Now()
	b := &batch{couponID: couponID, claims: claims}
	err := g.commit(ctx, b)
	for _, c := range claims {
		if err != nil {
			c.result <- err // the refusals were read in a transaction that was not committed
		} else {
			c.result <- b.refused[c.ID]
		}
	}
	t := Transaction{Claims: len(claims), Took: time.Since(start), Err: err}
	if err == nil {
		t.Orders = len(b.won)
	}
	g.ended(t)
}

// commit tries a single round trip first; if that changed nothing, an
// interactive transaction finds out which claims can win. It does not try again
// what the server may yet execute: the stock would be taken twice for the same
// orders.
func (g *groupCommit) commit(ctx context.Context, b *batch) error {
	err := g.resolve(ctx, b, b.singleRoundTrip(ctx, g.batchDB))
	if errors.Is(err, errNotApplied) {
		err = g.resolve(ctx, b, retry(ctx, func() error {
			return inTx(ctx, g.db, func(conn *sqlx.Conn) error { return b.apply(ctx, conn) })
		}))
	}
	return err
}

// resolve returns nil if the batch's verdicts are final, and otherwise why they
// are not. It reads back a commit whose reply was lost.
func (g *groupCommit) resolve(ctx context.Context, b *batch, err error) error {
	switch {
	case errors.Is(err, errCommit):
		return resolve(ctx, g.db, b.won[0].Order, err)
	case errors.Is(err, errNothingWon):
		return nil
	}
	return err
}
