package commit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/admission/slots"
	"example.com/flashsale/internal/order"
)

// groupCommit commits orders in shared transactions. A hot coupon is one row, so
// with a transaction per claim the disk's commit latency bounds the claims per
// second. Here the orders that arrive while transactions commit form the next
// batch, and share its commit. InnoDB's own group commit does the same for
// transactions. The first order of an idle service does not wait: it is a batch
// of one.
//
// A batch has the orders of many coupons, so they cost few more transactions than one
// coupon. A segment of a coupon is in one batch at a time. On vtgate a batch has the
// orders of one segment, which are on one shard.
//
// Commit returns when its own order is durable, as with PerClaim. Orders take the
// stock of their segment in order of arrival. A refused order does not fail its
// batch, and a batch larger than a stock sells all that is left.
type groupCommit struct {
	transfers               // with the Config
	retrySlots *slots.Slots // for batches of one segment; the remaining connections of DB are for reads

	mu      sync.Mutex
	queues  map[order.Segment]*queue
	ready   []*queue // have orders and are not in a batch, in order of arrival
	running int      // workers of shared batches
	closed  bool
	workers sync.WaitGroup
}

// A pending order waits for its result: in a queue, then in a batch.
type pending struct {
	order.Order
	segment order.Segment
	ctx     context.Context
	taken   bool       // by a batch; guarded by groupCommit.mu
	result  chan error // buffered: sending does not block if the caller has returned
}

const (
	// maxBatch bounds a transaction: beyond a few hundred rows its length
	// costs more than the shared commit saves.
	maxBatch = 512
	// maxParts bounds the segments of a transaction: each is a statement, or two when the
	// batch is placed step by step.
	maxParts = 256
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
	return &groupCommit{transfers: transfers{cfg: c}, retrySlots: slots.New(max(1, c.connections()/2), 0),
		queues: map[order.Segment]*queue{}}
}

// Commit blocks until o is durable or refused, or until ctx ends. If ctx ends
// while o is queued, o is not committed; if it ends later, o may be committed.
func (g *groupCommit) Commit(ctx context.Context, s order.Segment, o order.Order) error {
	s = g.locate(s)
	p := &pending{Order: in(s, o), segment: s, ctx: ctx, result: make(chan error, 1)}
	if !g.enqueue(p) {
		return errClosed
	}
	select {
	case err := <-p.result:
		return err
	case <-ctx.Done():
		err := fmt.Errorf("waiting for the commit: %w", context.Cause(ctx))
		if g.dequeue(p) {
			return admission.WaitedInVain(ctx, err)
		}
		return err
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
