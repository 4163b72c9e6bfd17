package redislock

import (
	"context"
	"sync"
	"time"

	"example.com/flashsale/internal/lock"
)

// ReleaseAll implements lock.BatchReleaser. A batched locker sends all requests
// together (in a cluster, those to each node), others each by itself.
func (l *Locker) ReleaseAll(ctx context.Context, leases []lock.Lease) []error {
	errs := make([]error, len(leases))
	var releases sync.WaitGroup
	if l.batchers == nil {
		for i, lease := range leases {
			releases.Go(func() { errs[i] = lease.Release(ctx) })
		}
	}
	for b, indexes := range l.byBatcher(ctx, leases) {
		releases.Go(func() { b.release(ctx, leases, indexes, errs) })
	}
	releases.Wait()
	return errs
}

// byBatcher returns the indexes of the leases that each batcher releases.
func (l *Locker) byBatcher(ctx context.Context, leases []lock.Lease) map[*batcher][]int {
	indexes := map[*batcher][]int{}
	if l.batchers == nil {
		return indexes
	}
	for i, held := range leases {
		b := l.batchers.forKey(ctx, held.(*lease).key)
		indexes[b] = append(indexes[b], i)
	}
	return indexes
}

// release releases those of leases that have indexes, and sets their errors.
func (b *batcher) release(ctx context.Context, leases []lock.Lease, indexes []int, errs []error) {
	start, held, batch := time.Now(), indexes[:0], []*lease(nil)
	for _, n := range indexes {
		l := leases[n].(*lease)
		if !l.expiry.Releasing() {
			errs[n] = lock.ErrLost
			continue
		}
		held, batch = append(held, n), append(batch, l)
	}
	if len(batch) == 0 {
		return
	}
	removals := b.remove(ctx, batch...)
	for i, n := range held {
		errs[n] = batch[i].released(ctx, start, removals[i].found, removals[i].err)
	}
}
