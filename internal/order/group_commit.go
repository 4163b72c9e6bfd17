package order

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/tracing"
	"example.com/flashsale/internal/transaction"
)

// groupCommit commits claims in shared transactions. A hot coupon is one row, so
// with a transaction per claim the disk's commit latency bounds the claims per
// second. Here the claims that arrive while transactions commit form the next
// batch, and share its commit. InnoDB's own group commit does the same for
// transactions. The first claim of an idle service does not wait: it is a batch
// of one.
//
// A batch has the claims of any number of coupons, so many coupons cost no more
// transactions than one. A coupon is in one batch at a time, with the claims of all
// its segments.
//
// Commit returns when its own order is durable, as with PerClaim. Claims win the
// stock of their segment in order of arrival. A refused claim does not fail its
// batch, and a batch larger than a stock sells all that is left.
type groupCommit struct {
	db      *sqlx.DB
	batchDB *sqlx.DB // opened with multi-statements and brief lock waits
	alone   *slots   // of db's connections, for batches of one coupon: reads need the others
	ended   func(Transaction)
	tracer  tracing.Tracer

	standalone func() bool // see Config

	mu         sync.Mutex
	queues     map[int64]*queue // by coupon
	ready      []*queue         // have claims and are not in a batch, in order of arrival
	running    int              // committer goroutines of shared batches
	closed     bool
	committers sync.WaitGroup
}

// A claim is queued until its result is known.
type claim struct {
	Order
	segment segment
	ctx     context.Context
	result  chan error // buffered: sending does not block if the caller has returned
}

const (
	// maxBatch bounds a transaction: beyond a few hundred rows its length
	// costs more than the shared commit saves.
	maxBatch = 512
	// maxCommitters bounds the transactions that are under way at a time. With
	// more of them, the batches are smaller.
	maxCommitters = 2
	// batchTimeout bounds a transaction. Its claims have deadlines of their
	// own. Together with resolveTimeout it is how long a silent server can
	// delay the next batch.
	batchTimeout = 3 * time.Second
)

var errClosed = errors.New("the service is shutting down")

func newGroupCommit(c Config) *groupCommit {
	conns := cmp.Or(c.DB.Stats().MaxOpenConnections, maxRunning)
	if c.Standalone == nil {
		c.Standalone = func() bool { return false }
	}
	return &groupCommit{
		db: c.DB, batchDB: c.BatchDB, alone: newSlots(max(1, conns/2), admission.Limits{}), standalone: c.Standalone,
		ended: c.Observer.Ended, tracer: c.Tracer, queues: map[int64]*queue{},
	}
}

// Commit blocks until o is durable or refused, or until ctx ends. If ctx ends
// while o is queued, o is not committed; if it ends later, o may be committed.
func (g *groupCommit) Commit(ctx context.Context, s segment, o Order) error {
	c := &claim{Order: o, segment: s, ctx: ctx, result: make(chan error, 1)}
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
// orders; if that changed nothing, an interactive transaction finds out which
// claims can win. It does not try again what the server may yet execute:
// the stock would be taken twice for the same orders.
func (g *groupCommit) commitShared(b *batch) (err error) {
	ctx, cancel, span := g.begin(b)
	defer func() {
		cancel()
		b.end(span, err)
	}()
	err = b.placeAll(ctx, g.batchDB, g.standalone)
	if errors.Is(err, errNotApplied) && !transaction.HasNumber(err, transaction.LockWaitTimeout) {
		err = transaction.Run(ctx, g.batchDB, func(conn *sqlx.Conn) error { return b.apply(ctx, conn) })
	}
	return g.resolve(ctx, b, err)
}

// split commits the parts of a batch each in a transaction of its own. One of
// their coupons may be locked by somebody else: the others do not wait for it
// again.
func (g *groupCommit) split(b *batch) {
	for _, p := range b.parts {
		alone := &batch{}
		alone.add(p)
		g.committers.Go(func() { g.commitAlone(alone) })
	}
}

// commitAlone commits batches of one coupon until one of them succeeds, or until
// no claim is queued. Claims of a coupon that stays locked thus delay no other's.
func (g *groupCommit) commitAlone(b *batch) {
	q := b.parts[0].queue
	for b != nil {
		start := time.Now()
		err := g.commitRepeatedly(b)
		g.reply(b, start, err)
		if err == nil {
			g.giveBack(b)
			return
		}
		b = g.nextOf(q)
	}
}

// commitRepeatedly is commitShared for a batch that contends for its coupon. If
// many coupons are locked, it waits for a slot.
func (g *groupCommit) commitRepeatedly(b *batch) (err error) {
	ctx, cancel, span := g.begin(b)
	defer func() {
		cancel()
		b.end(span, err)
	}()
	couponID := b.parts[0].queue.couponID
	if _, err := g.alone.take(ctx, couponID); err != nil {
		return err
	}
	defer g.alone.release(couponID)
	return g.resolve(ctx, b, transaction.Retry(ctx, func() error {
		return transaction.Run(ctx, g.db, func(conn *sqlx.Conn) error { return b.apply(ctx, conn) })
	}))
}

// reply sends each claim its result: its verdict if err is nil.
func (g *groupCommit) reply(b *batch, start time.Time, err error) {
	t := Transaction{Claims: len(b.claims), Took: time.Since(start), Err: err}
	if err == nil {
		t.Orders = len(b.won)
	}
	for _, c := range b.claims {
		if err != nil {
			c.result <- err // the refusals were read in a transaction that was not committed
		} else {
			c.result <- b.refused[c.ID]
		}
	}
	g.ended(t)
}

// resolve returns nil if the batch's verdicts are final, and otherwise why they
// are not. It reads back a commit whose reply was lost.
func (g *groupCommit) resolve(ctx context.Context, b *batch, err error) error {
	switch {
	case errors.Is(err, transaction.ErrUnknown):
		return resolve(ctx, g.db, b.won[0].Order, err)
	case errors.Is(err, errNothingWon):
		return nil
	}
	return err
}
