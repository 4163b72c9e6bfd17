package redislock

import (
	"context"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// maxBatch bounds the requests of one script. More would block Redis for longer than
// other clients should wait.
const maxBatch = 100

// A batcher makes one round trip at a time: what is requested meanwhile is sent together
// in the next. So requests run in the order in which they were made while the connection
// holds, and the release of a lock cannot run before its acquisition.
type batcher struct {
	rdb     redis.UniversalClient
	publish string // the command that notifies waiters

	mu   sync.Mutex
	next *batch // nil while no request waits
	busy bool   // a round trip is under way
}

// A batch is the requests of one round trip.
type batch struct {
	ctx      context.Context // of the first request, without its end: for tracing
	requests []request
	replies  []reply       // in the order of the requests
	done     chan struct{} // closed when the replies have arrived
}

// do returns the reply to r. If ctx ends first, its error is the cause of ctx, and r may
// have run, or may still run.
func (b *batcher) do(ctx context.Context, r request) reply {
	batch, i := b.add(ctx, r)
	if batch == nil {
		replies := b.run(ctx, []request{r})
		b.drain()
		return replies[0]
	}
	select {
	case <-batch.done:
		return batch.replies[i]
	case <-ctx.Done():
		return reply{err: context.Cause(ctx)}
	}
}

// add adds r to the next batch, and returns that and the index of r in it. If no round
// trip is under way, it returns nil, and the caller makes one.
func (b *batcher) add(ctx context.Context, r request) (next *batch, i int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.busy {
		b.busy = true
		return nil, 0
	}
	if b.next == nil {
		b.next = &batch{ctx: context.WithoutCancel(ctx), done: make(chan struct{})}
	}
	b.next.requests = append(b.next.requests, r)
	return b.next, len(b.next.requests) - 1
}

// drain sends the batches that were queued meanwhile, in a background goroutine. They are
// bounded by the client's own timeouts only, because their callers have different
// deadlines.
func (b *batcher) drain() {
	batch := b.takeNext()
	if batch == nil {
		return
	}
	go func() {
		for ; batch != nil; batch = b.takeNext() {
			for requests := range slices.Chunk(batch.requests, maxBatch) {
				batch.replies = append(batch.replies, b.run(batch.ctx, requests)...)
			}
			close(batch.done)
		}
	}()
}

func (b *batcher) takeNext() *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := b.next
	b.next, b.busy = nil, next != nil
	return next
}
