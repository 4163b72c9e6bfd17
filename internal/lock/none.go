package lock

import (
	"context"
	"sync/atomic"
	"time"
)

// None returns a locker that excludes no one. It is the control of the
// experiments, and the choice of a service that needs no lock.
func None() Locker { return none{} }

type none struct{}

func (none) TryLock(ctx context.Context, _ string, _ time.Duration) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &noneLease{}, nil
}

type noneLease struct{ released atomic.Bool }

func (l *noneLease) Fence() uint64 { return 0 }

func (l *noneLease) Extend(context.Context, time.Duration) error {
	if l.released.Load() {
		return ErrLost
	}
	return nil
}

func (l *noneLease) Release(context.Context) error {
	if l.released.Swap(true) {
		return ErrLost
	}
	return nil
}
