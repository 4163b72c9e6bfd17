package commit

import (
	"context"
	"errors"
	"time"

	"example.com/flashsale/internal/transaction"
)

// startWorker starts a goroutine that commits batches, if a segment is ready and
// fewer than maxWorkers run.
func (g *groupCommit) startWorker() {
	if len(g.ready) > 0 && g.running < maxWorkers {
		g.running++
		g.workers.Go(g.commitReady)
	}
}

// commitReady commits batches of the ready segments until none is ready.
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
	ctx, end := g.beginAttempt(b)
	defer func() { end(err) }()
	err = b.placeAll(ctx, g.cfg.BatchDB)
	if errors.Is(err, errNotApplied) && !transaction.HasNumber(err, transaction.LockWaitTimeout) {
		err = b.placeSome(ctx, g.cfg.BatchDB)
	}
	return g.settle(ctx, b, err)
}

// split commits the parts of a batch each in a transaction of its own. One of their
// stocks may be locked by another transaction: the others do not wait for it again.
func (g *groupCommit) split(b *batch) {
	for _, p := range b.parts {
		alone := &batch{outbox: g.cfg.Outbox}
		alone.add(p)
		g.workers.Go(func() { g.commitAlone(alone) })
	}
}

// commitAlone commits batches of one segment until one of them succeeds, or until
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

// commitRepeatedly is commitShared for a batch that contends for its segment. If
// many coupons are locked, it waits for a slot.
func (g *groupCommit) commitRepeatedly(b *batch) (err error) {
	ctx, end := g.beginAttempt(b)
	defer func() { end(err) }()
	couponID := b.parts[0].queue.segment.CouponID
	if _, err := g.retrySlots.Acquire(ctx, couponID); err != nil {
		return err
	}
	defer g.retrySlots.Release(couponID)
	return g.settle(ctx, b, transaction.Retry(ctx, func() error { return b.placeSome(ctx, g.cfg.DB) }))
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
			p.result <- b.refused[p]
		}
	}
	g.cfg.Ended(t)
}

// settle returns nil if the batch's verdicts are final, and otherwise why they
// are not. It reads back a commit whose outcome is unknown.
func (g *groupCommit) settle(ctx context.Context, b *batch, err error) error {
	switch {
	case errors.Is(err, transaction.ErrUnknown):
		return readBack(ctx, g.cfg.DB, b.placed[0].Order, err)
	case errors.Is(err, errNonePlaced):
		return nil
	}
	return err
}
