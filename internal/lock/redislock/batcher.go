package redislock

import (
	"context"
	_ "embed"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
	"example.com/flashsale/internal/lock/driver/redisdriver"
)

//go:embed batch.lua
var batchLua string

var batchScript = redis.NewScript(batchLua)

// maxBatch bounds the requests of one script. More would block Redis for longer than
// other clients should wait.
const maxBatch = 100

// Batched returns a locker like New's for many goroutines: requests that are
// made during one round trip are sent together in the next, a hundred in one
// script (in a cluster, one script for each request, and those to each node in a
// pipeline of its own). A single request takes hardly longer than with New.
func Batched(rdb redis.UniversalClient) *Locker {
	l := New(rdb)
	l.batchers = &batchers{one: batcher{rdb: rdb, publish: l.publish, size: maxBatch}}
	l.batchers.cluster, _ = rdb.(*redis.ClusterClient)
	return l
}

// batchers are the batchers of a locker: one, or one for each node of a cluster,
// so that a node that does not reply delays no request to another.
type batchers struct {
	one     batcher
	cluster *redis.ClusterClient // nil without a cluster

	mu     sync.Mutex
	byNode map[string]*batcher // by address; empty if the node is not known
}

// forKey returns the batcher of the node that has key.
func (b *batchers) forKey(ctx context.Context, key string) *batcher {
	if b.cluster == nil {
		return &b.one
	}
	address := ""
	if node, err := b.cluster.MasterForKey(ctx, key); err == nil {
		address = node.Options().Addr
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byNode[address] == nil {
		if b.byNode == nil {
			b.byNode = map[string]*batcher{}
		}
		// a script must not leave its slot
		b.byNode[address] = &batcher{rdb: b.cluster, publish: b.one.publish, size: 1}
	}
	return b.byNode[address]
}

// A batcher makes one round trip at a time. So requests run in the order in
// which they were made while the connection holds, and the release of a lock
// cannot run before its acquisition.
type batcher struct {
	rdb     redis.UniversalClient
	publish string
	size    int // requests in one script

	mu       sync.Mutex
	next     *batch // nil while no request waits
	lastSize int    // requests in the batch before next
	busy     bool   // a round trip is under way
}

// A batch is the requests of one round trip.
type batch struct {
	ctx      context.Context // of the first request, without its end: for tracing
	size     int             // requests in one script
	requests []request
	calls    []*batchCall  // in the order of the requests
	done     chan struct{} // closed when the replies have arrived
}

// call returns the call with the reply to request i, and its index there.
func (b *batch) call(i int) (*batchCall, int) {
	call, i := b.calls[i/b.size], i%b.size
	if call.alone != nil {
		return call.alone[i], 0
	}
	return call, i
}

// A request acquires or releases a lock.
type request struct {
	key, token string
	ttl        int64 // in milliseconds; 0 releases
}

// acquire requests the key of l. It returns lock.ErrLocked if another holds it.
func (b *batcher) acquire(ctx context.Context, l *lease, ttl time.Duration) error {
	batch, i, err := b.do(ctx, request{l.key, l.token.Text, driver.Milliseconds(ttl)})
	if err != nil {
		return err
	}
	call, i := batch.call(i)
	l.token.Add(call.attempts.Count())
	ok, err := call.result(i)
	if err == nil && !ok {
		return lock.Locked(call.timeLeft(i))
	}
	return err
}

// remove removes the key of l if it has the lease's token, and reports whether it had. It
// counts the requests in l.
func (b *batcher) remove(ctx context.Context, l *lease) (found bool, err error) {
	batch, i, err := b.do(ctx, request{l.key, l.token.Text, 0})
	if err != nil {
		l.releases.Add(1)
		return false, err
	}
	call, i := batch.call(i)
	l.releases.Add(max(1, call.attempts.Count()))
	l.unnotified.Store(call.err == nil && call.results[i] == '2')
	return call.result(i)
}

// do returns the batch that has the reply to r, and its index in it, or the cause of
// ctx. In the second case r may have run, or may still run.
func (b *batcher) do(ctx context.Context, r request) (to *batch, i int, err error) {
	batch, i, alone := b.add(ctx, r)
	if alone {
		b.send(ctx, batch)
		b.drain()
		return batch, i, nil
	}
	select {
	case <-batch.done:
		return batch, i, nil
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
}

// add adds r to the next batch. If no round trip is under way, it is alone in a batch
// that its caller sends.
func (b *batcher) add(ctx context.Context, r request) (to *batch, i int, alone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.busy {
		b.busy = true
		return &batch{size: b.size, requests: []request{r}}, 0, true
	}
	if b.next == nil {
		b.next = &batch{ctx: context.WithoutCancel(ctx), size: b.size, requests: make([]request, 0, b.lastSize),
			done: make(chan struct{})}
	}
	b.next.requests = append(b.next.requests, r)
	return b.next, len(b.next.requests) - 1, false
}

// drain sends the batches that were queued meanwhile, in a background goroutine.
func (b *batcher) drain() {
	batch := b.takeNext()
	if batch == nil {
		return
	}
	go func() {
		for ; batch != nil; batch = b.takeNext() {
			b.send(batch.ctx, batch)
			close(batch.done)
		}
	}()
}

func (b *batcher) takeNext() *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := b.next
	b.next, b.busy = nil, next != nil
	if b.busy {
		b.lastSize = len(next.requests)
	}
	return next
}

// send makes the round trip. A batch of several requests is bounded by the
// client's own timeouts only, because its callers have different deadlines.
func (b *batcher) send(ctx context.Context, batch *batch) {
	batch.calls = b.call(ctx, batch.requests, b.size)
	for _, call := range batch.calls {
		if len(call.requests) > 1 && redisdriver.Divisible(call.err) {
			call.alone = b.call(ctx, call.requests, 1)
		}
	}
}

// call sends requests, size of them in one script.
func (b *batcher) call(ctx context.Context, requests []request, size int) (calls []*batchCall) {
	var scripts []*redisdriver.ScriptCall
	for requests := range slices.Chunk(requests, size) {
		call := &batchCall{requests: requests}
		calls, scripts = append(calls, call), append(scripts, call.script(b.publish))
	}
	redisdriver.Call(ctx, b.rdb, batchScript, scripts...)
	for i, call := range calls {
		reply, err := scripts[i].Reply.Text()
		if err == nil {
			err = call.parse(reply)
		}
		call.err = err
	}
	return calls
}
