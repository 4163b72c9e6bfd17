package bench

import (
	"context"
	"sync"
	"time"
)

// An idBlock is a range of sequence numbers that was fetched from Redis at once.
type idBlock struct {
	mu        sync.Mutex
	next, end int64
}

// nextID returns an order id as the articles compose it: seconds since the
// epoch in the upper 32 bits, the sequence number of the day in the lower.
func (b *baseline) nextID(ctx context.Context) (int64, error) {
	if !b.has(idBlocks) {
		n, err := b.rdb.Incr(ctx, sequenceKey()).Result()
		return composeID(n), err
	}
	const size = 1000
	ids := &b.ids
	ids.mu.Lock()
	defer ids.mu.Unlock()
	if ids.next == ids.end {
		last, err := b.rdb.IncrBy(ctx, sequenceKey(), size).Result()
		if err != nil {
			return 0, err
		}
		ids.next, ids.end = last-size, last
	}
	ids.next++
	return composeID(ids.next), nil
}

func sequenceKey() string { return "icr:order:" + time.Now().UTC().Format("2006:01:02") }

func composeID(n int64) int64 {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	return (time.Now().Unix()-epoch)<<32 | n
}
