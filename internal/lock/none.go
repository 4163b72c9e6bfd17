package lock

import (
	"context"
	"sync/atomic"
	"time"
)

// None admits everybody: the control of every experiment, and what a service
// that needs no lock runs with.
func None() Locker { return none{} }

type none struct{}

func (none) TryLock(ctx context.Context, _ string, ttl time.Duration) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := CheckTTL(ttl); err != nil {
		return nil, err
	}
	return &pass{}, nil
}

type pass struct{ released atomic.Bool }

func (p *pass) Fence() uint64 { return 0 }

func (p *pass) Extend(_ context.Context, ttl time.Duration) error {
	if p.released.Load() {
		return ErrLost
	}
	return CheckTTL(ttl)
}

func (p *pass) Release(context.Context) error {
	if p.released.Swap(true) {
		return ErrLost
	}
	return nil
}
