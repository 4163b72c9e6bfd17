package lock

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var errDown = errors.New("down")

// bubble runs a test beside others, with a clock of its own.
func bubble(t *testing.T, test func(*testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// A fake is a Locker, and nothing more, whose service a test takes down or delays.
type fake struct {
	Locker
	down                       atomic.Bool  // TryLock and Extend fail with an unknown outcome
	reply                      atomic.Int64 // what the replies to them take, in nanoseconds
	extends, releases          atomic.Int64
	tryLock, extended, release func(context.Context) error // what happens first, if not nil
}

type fakeLease struct {
	Lease
	f *fake
}

// hang gets no reply.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (f *fake) first(ctx context.Context, do func(context.Context) error) error {
	if f.down.Load() {
		return errDown
	}
	if do == nil {
		return nil
	}
	return do(ctx)
}

func (f *fake) await() { time.Sleep(time.Duration(f.reply.Load())) }

func (f *fake) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	if err := f.first(ctx, f.tryLock); err != nil {
		return nil, err
	}
	lease, err := f.Locker.TryLock(ctx, key, ttl)
	f.await()
	return &fakeLease{lease, f}, err
}

func (l *fakeLease) Extend(ctx context.Context, ttl time.Duration) error {
	l.f.extends.Add(1)
	if err := l.f.first(ctx, l.f.extended); err != nil {
		return err
	}
	err := l.Lease.Extend(ctx, ttl)
	l.f.await()
	return err
}

func (l *fakeLease) Release(ctx context.Context) error {
	l.f.releases.Add(1)
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.f.release != nil {
		if err := l.f.release(ctx); err != nil {
			return err
		}
	}
	return l.Lease.Release(ctx)
}
