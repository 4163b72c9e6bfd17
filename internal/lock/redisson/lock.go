package redisson

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/internal/lock"
)

const (
	// cleanupTimeout bounds the release after an acquisition whose outcome is
	// unknown.
	cleanupTimeout = 500 * time.Millisecond
	// maxBatch is how many leases one script extends, as in Redisson.
	maxBatch = 100
)

var errForeign = errors.New("redisson: not a lease of this locker")

// A locker is the part that all lock types share.
type locker struct {
	c   *Client
	typ *lockType
}

// TryLock implements lock.Locker.
func (l locker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	lease, _, err := l.try(ctx, key, l.c.newOwner(), ttl, "")
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// try sends the acquire script once. With lock.ErrLocked it also returns the
// script's reply.
func (l locker) try(ctx context.Context, key, owner string, ttl time.Duration, wait any) (*lease, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	lease := &lease{locker: l, key: key, owner: owner, valid: time.Now().Add(ttl)}
	reply, err := l.acquire(ctx, lease, ttl, wait)
	switch {
	case err != nil:
		lease.abandon(ctx)
		return nil, 0, fmt.Errorf("redisson: acquire %s: %w", key, err)
	case reply < 0:
		return nil, reply, lock.ErrLocked
	}
	lease.fence = uint64(reply)
	return lease, 0, nil
}

func (l locker) acquire(ctx context.Context, lease *lease, ttl time.Duration, wait any) (int64, error) {
	publish, err := l.c.publishCommand(ctx)
	if err != nil {
		return 0, err
	}
	return l.typ.acquire.Run(ctx, l.c.rdb, l.typ.keys(lease.key, lease.owner),
		ttl.Milliseconds(), l.typ.member(lease.owner), publish, l.typ.channel(lease.key), wait).Int64()
}

// ExtendAll implements lock.BatchExtender: one round trip for 100 leases (in a
// cluster: of one slot).
func (l locker) ExtendAll(ctx context.Context, ttl time.Duration, leases []lock.Lease) []error {
	errs := make([]error, len(leases))
	slots := make(map[int][]int) // indexes into leases
	for i, le := range leases {
		own, ok := le.(*lease)
		switch {
		case !ok || own.locker != l:
			errs[i] = errForeign
		case own.ended():
			errs[i] = lock.ErrLost
		default:
			slot := l.c.slot(own.key)
			slots[slot] = append(slots[slot], i)
		}
	}
	for _, slot := range slots {
		for part := range slices.Chunk(slot, maxBatch) {
			l.extendPart(ctx, ttl, leases, part, errs)
		}
	}
	return errs
}

// extendPart extends the leases with the given indexes by one script.
func (l locker) extendPart(ctx context.Context, ttl time.Duration, leases []lock.Lease, part []int, errs []error) {
	var keys []string
	args := []any{ttl.Milliseconds()}
	end := time.Now().Add(ttl)
	for _, i := range part {
		own := leases[i].(*lease)
		own.expect(end)
		keys = append(keys, l.typ.keys(own.key, own.owner)...)
		args = append(args, l.typ.member(own.owner))
	}
	extended, err := l.typ.extend.Run(ctx, l.c.rdb, keys, args...).BoolSlice()
	if err == nil && len(extended) != len(part) {
		err = fmt.Errorf("%d answers to %d questions", len(extended), len(part))
	}
	for n, i := range part {
		own := leases[i].(*lease)
		if err != nil {
			errs[i] = fmt.Errorf("redisson: extend %s: %w", own.key, err)
		} else {
			errs[i] = own.extended(extended[n], end)
		}
	}
}
