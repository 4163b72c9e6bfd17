package commit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/admission/slots"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/tracing"
	"example.com/flashsale/internal/transaction"
)

// groupCommit commits orders in shared transactions. A hot coupon is one row, so
// with a transaction per claim the disk's commit latency bounds the claims per
// second. Here the orders that arrive while transactions commit form the next
// batch, and share its commit. InnoDB's own group commit does the same for
// transactions. The first order of an idle service does not wait: it is a batch
// of one.
//
// A batch has the orders of any number of coupons, so many coupons cost no more
// transactions than one. A coupon is in one batch at a time, with the orders of all
// its segments.
//
// Commit returns when its own order is durable, as with PerClaim. Orders take the
// stock of their segment in order of arrival. A refused order does not fail its
// batch, and a batch larger than a stock sells all that is left.
type groupCommit struct {
	db         *sqlx.DB
	batchDB    *sqlx.DB     // opened with multi-statements and brief lock waits
	retrySlots *slots.Slots // for batches of one coupon; the remaining connections of db are for reads
	standalone func() bool  // see Config
	ended      func(Transaction)
	tracer     tracing.Tracer

	mu      sync.Mutex
	queues  map[int64]*queue // by coupon
	ready   []*queue         // have orders and are not in a batch, in order of arrival
	running int              // workers of shared batches
	closed  bool
	workers sync.WaitGroup
}

// A pending order waits for its result: in a queue, then in a batch.
type pending struct {
	order.Order
	segment order.Segment
	ctx     context.Context
	result  chan error // buffered: sending does not block if the caller has returned
}

const (
	// maxBatch bounds a transaction: beyond a few hundred rows its length
	// costs more than the shared commit saves.
	maxBatch = 512
	// maxWorkers bounds the transactions that are under way at a time. With
	// more of them, the batches are smaller.
	maxWorkers = 2
	// batchTimeout bounds a transaction. Its callers have deadlines of their
	// own. Together with readBackTimeout it is how long a silent server can
	// delay the next batch.
	batchTimeout = 3 * time.Second
)

var errClosed = errors.New("the service is shutting down")

func newGroupCommit(c Config) *groupCommit {
	return &groupCommit{
		db: c.DB, batchDB: c.BatchDB, retrySlots: slots.New(max(1, c.connections()/2), admission.Limits{}),
		standalone: c.Standalone, ended: c.Ended, tracer: c.Tracer, queues: map[int64]*queue{},
	}
}

// Commit blocks until o is durable or refused, or until ctx ends. If ctx ends
// while o is queued, o is not committed; if it ends later, o may be committed.
func (g *groupCommit) Commit(ctx context.Context, s order.Segment, o order.Order) error {
	p := &pending{Order: o, segment: s, ctx: ctx, result: make(chan error, 1)}
	if !g.enqueue(p) {
		return errClosed
	}
	select {
	case err := <-p.result:
		return err
	case <-ctx.Done():
		g.dequeue(p)
		return fmt.Errorf("waiting for the commit: %w", context.Cause(ctx))
	}
}

// Close makes Commit refuse further orders, and returns when the queued ones
// are committed or refused.
func (g *groupCommit) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.workers.Wait()
}

// commitReady commits batches of the ready coupons until none is ready.
func (g *groupCommit) commitReady() {
	for b := g.next(nil); b != nil; b = g.next(b) {
		start := time.Now()
		err := g.commitShared(b)
		if transaction.IsConflict(err) {
			g.split(b)
			b = nil
			continue
		}
		g.reply(b, start, err)
	}
}

// commitShared returns nil if b's verdicts are final. It first tries to place all
// orders; if that changed nothing, an interactive transaction finds out which of
// them can be placed. It does not try again what the server may yet execute:
// the stock would be taken twice for the same orders.
func (g *groupCommit) commitShared(b *batch) (err error) {
	ctx, end := g.attempt(b)
	defer func() { end(err) }()
	err = b.placeAll(ctx, g.batchDB, g.standalone)
	if errors.Is(err, errNotApplied) && !transaction.HasNumber(err, transaction.LockWaitTimeout) {
		err = transaction.Run(ctx, g.batchDB, func(conn *sqlx.Conn) error { return b.apply(ctx, conn) })
	}
	return g.settle(ctx, b, err)
}

// split commits the parts of a batch each in a transaction of its own. One of
// their coupons may be locked by somebody else: the others do not wait for it
// again.
func (g *groupCommit) split(b *batch) {
	for _, p := range b.parts {
		alone := &batch{}
		alone.add(p)
		g.workers.Go(func() { g.commitAlone(alone) })
	}
}

// commitAlone commits batches of one coupon until one of them succeeds, or until
// no order is queued. Orders of a coupon that stays locked thus delay no other's.
func (g *groupCommit) commitAlone(b *batch) {
	q := b.parts[0].queue
	for b != nil {
		start := time.Now()
		err := g.commitRepeatedly(b)
		g.reply(b, start, err)
		if err == nil {
			g.requeue(b)
			return
		}
		b = g.nextOf(q)
	}
}

// commitRepeatedly is commitShared for a batch that contends for its coupon. If
// many coupons are locked, it waits for a slot.
func (g *groupCommit) commitRepeatedly(b *batch) (err error) {
	ctx, end := g.attempt(b)
	defer func() { end(err) }()
	couponID := b.parts[0].queue.couponID
	if _, err := g.retrySlots.Acquire(ctx, couponID); err != nil {
		return err
	}
	defer g.retrySlots.Release(couponID)
	return g.settle(ctx, b, transaction.Retry(ctx, func() error {
		return transaction.Run(ctx, g.db, func(conn *sqlx.Conn) error { return b.apply(ctx, conn) })
	}))
}

// reply sends each order its result: its verdict if err is nil.
func (g *groupCommit) reply(b *batch, start time.Time, err error) {
	t := Transaction{Claims: len(b.orders), Took: time.Since(start), Err: err}
	if err == nil {
		t.Orders = len(b.placed)
	}
	for _, p := range b.orders {
		if err != nil {
			p.result <- err // the refusals were read in a transaction that was not committed
		} else {
			p.result <- b.refused[p.ID]
		}
	}
	g.ended(t)
}

// settle returns nil if the batch's verdicts are final, and otherwise why they
// are not. It reads back a commit whose outcome is unknown.
func (g *groupCommit) settle(ctx context.Context, b *batch, err error) error {
	switch {
	case errors.Is(err, transaction.ErrUnknown):
		return readBack(ctx, g.db, b.placed[0].Order, err)
	case errors.Is(err, errNonePlaced):
		return nil
	}
	return err
}
