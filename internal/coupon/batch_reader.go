package coupon

import (
	"context"
	"sync"
	"time"
)

// A batchReader reads coupons from a store. The coupons that are asked for while
// a query runs share the next one: with a thousand coupons on sale, a query for
// each costs more than their claims.
type batchReader struct {
	store *Store

	mu      sync.Mutex
	queue   []*read
	running bool // a goroutine will take the queue
}

type read struct {
	ctx    context.Context
	id     int64
	result chan readResult // buffered: sending does not block if the caller has returned
}

type readResult struct {
	coupon Coupon
	err    error
}

const (
	// maxRead bounds a query. Up to 200 values MySQL plans by the index itself
	// and not by statistics, which may be wrong.
	maxRead = 128
	// slowRead is when a query no longer holds up the next one: its connection
	// may be silent.
	slowRead = 20 * time.Millisecond
)

// find is Store.Find.
func (b *batchReader) find(ctx context.Context, id int64) (Coupon, error) {
	r := &read{ctx, id, make(chan readResult, 1)}
	b.enqueue(r)
	select {
	case got := <-r.result:
		return got.coupon, got.err
	case <-ctx.Done():
		return Coupon{}, context.Cause(ctx)
	}
}

func (b *batchReader) enqueue(r *read) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, r)
	if !b.running {
		b.running = true
		go b.run()
	}
}

// run reads the queue until it is empty. Behind a slow query another goroutine
// goes on.
func (b *batchReader) run() {
	for batch := b.next(); len(batch) > 0; batch = b.next() {
		slow := time.AfterFunc(slowRead, b.run)
		b.read(batch)
		if !slow.Stop() {
			return
		}
	}
}

// next removes up to maxRead reads from the queue.
func (b *batchReader) next() []*read {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.queue), maxRead)
	batch := b.queue[:n]
	b.queue = append([]*read(nil), b.queue[n:]...)
	b.running = n > 0
	return batch
}

func (b *batchReader) read(batch []*read) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), loadTimeout)
	defer cancel()
	ids := make([]int64, len(batch))
	for i, r := range batch {
		ids[i] = r.id
	}
	coupons, err := b.store.findAll(ctx, ids...)
	for _, r := range batch {
		c, err := pick(coupons, r.id, err)
		r.result <- readResult{c, err}
	}
}
