package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/internal/lock"
)

var errForeign = errors.New("redislock: not a lease of this locker")

// ExtendAll implements lock.BatchExtender: one round trip for up to 100 leases.
// (In a cluster, where a script may not leave its slot, it is one for each.)
func (l *Locker) ExtendAll(ctx context.Context, ttl time.Duration, leases []lock.Lease) []error {
	errs := make([]error, len(leases))
	ours := make([]*lease, 0, len(leases))
	at := make([]int, 0, len(leases)) // where in leases each of ours stands
	for i, le := range leases {
		own, ok := le.(*lease)
		switch {
		case !ok || own.locker != l:
			errs[i] = errForeign
		case own.ended():
			errs[i] = lock.ErrLost
		default:
			ours, at = append(ours, own), append(at, i)
		}
	}
	for i, err := range l.extendOurs(ctx, ttl, ours) {
		errs[at[i]] = err
	}
	return errs
}

func (l *Locker) extendOurs(ctx context.Context, ttl time.Duration, leases []*lease) []error {
	errs := make([]error, 0, len(leases))
	for part := range slices.Chunk(leases, l.batch) {
		end := time.Now().Add(ttl)
		for _, lease := range part {
			lease.expect(end)
		}
		extended, err := l.extend(ctx, ttl, part)
		for i, lease := range part {
			if err != nil {
				errs = append(errs, fmt.Errorf("redislock: extend %s: %w", lease.key, err))
			} else {
				errs = append(errs, lease.extended(extended[i], end))
			}
		}
	}
	return errs
}

func (l *Locker) extend(ctx context.Context, ttl time.Duration, leases []*lease) ([]bool, error) {
	keys := make([]string, len(leases))
	args := []any{ttl.Milliseconds()}
	for i, lease := range leases {
		keys[i] = lease.key
		args = append(args, lease.token)
	}
	extended, err := extendScript.Run(ctx, l.send, keys, args...).BoolSlice()
	if err == nil && len(extended) != len(leases) {
		err = fmt.Errorf("%d answers to %d questions", len(extended), len(leases))
	}
	return extended, err
}
