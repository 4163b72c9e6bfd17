// Package batchread lets concurrent reads of single keys share queries: those that
// arrive while a query is running share the next one.
package batchread

import (
	"context"
	"sync"
	"time"
)

// A Reader queries keys, in groups that are queried apart from each other. It is safe for
// concurrent use.
type Reader[G comparable, K, V any] struct {
	query Query[G, K, V]
	slow  time.Duration

	mu     sync.Mutex
	queues map[G][]*read[K, V] // a queue exists while a goroutine will take it
}

// A Query returns what there is of the keys, some of which may be equal. It must have a deadline
// of its own: its context has the values of a caller's context, and never ends.
type Query[G comparable, K, V any] func(ctx context.Context, group G, keys []K) (V, error)

type read[K, V any] struct {
	ctx    context.Context
	key    K
	result chan result[V] // buffered: sending does not block if the caller has returned
}

type result[V any] struct {
	value V
	err   error
}

// MaxKeys bounds the keys of a query. Up to 200 values MySQL plans by the index
// itself and not by statistics, which may be wrong.
const MaxKeys = 128

// New returns a Reader. A query that takes longer than slow no longer holds up
// the next one of its group: its connection may be silent.
func New[G comparable, K, V any](slow time.Duration, query Query[G, K, V]) *Reader[G, K, V] {
	return &Reader[G, K, V]{query: query, slow: slow, queues: map[G][]*read[K, V]{}}
}

// Read returns what a query returns that has the key and begins after the call. It shares
// the value with other callers. If ctx ends before, Read returns the cause.
func (r *Reader[G, K, V]) Read(ctx context.Context, group G, key K) (V, error) {
	one := &read[K, V]{ctx, key, make(chan result[V], 1)}
	r.enqueue(group, one)
	select {
	case got := <-one.result:
		return got.value, got.err
	case <-ctx.Done():
		var none V
		return none, context.Cause(ctx)
	}
}

func (r *Reader[G, K, V]) enqueue(group G, one *read[K, V]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	queue, running := r.queues[group]
	r.queues[group] = append(queue, one)
	if !running {
		go r.run(group)
	}
}

// run queries a group until its queue is empty. Behind a slow query another
// goroutine goes on.
func (r *Reader[G, K, V]) run(group G) {
	for batch := r.next(group); len(batch) > 0; batch = r.next(group) {
		slow := time.AfterFunc(r.slow, func() { r.run(group) })
		r.read(group, batch)
		if !slow.Stop() {
			return
		}
	}
}

// next removes up to MaxKeys reads from a queue, and drops those whose context has
// ended. It deletes the queue when none is left.
func (r *Reader[G, K, V]) next(group G) []*read[K, V] {
	r.mu.Lock()
	defer r.mu.Unlock()
	queue := r.queues[group]
	var batch []*read[K, V]
	for len(queue) > 0 && len(batch) < MaxKeys {
		if queue[0].ctx.Err() == nil {
			batch = append(batch, queue[0])
		}
		queue = queue[1:]
	}
	if len(batch) == 0 {
		delete(r.queues, group)
	} else {
		r.queues[group] = queue
	}
	return batch
}

// read queries a batch and sends each read the result.
func (r *Reader[G, K, V]) read(group G, batch []*read[K, V]) {
	keys := make([]K, len(batch))
	for i, one := range batch {
		keys[i] = one.key
	}
	value, err := r.query(context.WithoutCancel(batch[0].ctx), group, keys)
	for _, one := range batch {
		one.result <- result[V]{value, err}
	}
}
