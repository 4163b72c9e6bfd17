package redisson_test

import (
	"context"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
)

func TestMultiLockAcquiresAllPartsOrNone(t *testing.T) {
	t.Parallel()
	c := newClient(t, labtest.Redis(t))
	l := c.Lock()
	both := redisson.NewMultiLock(redisson.Part{Locker: l, Key: "a"}, redisson.Part{Locker: l, Key: "b"},
		redisson.Part{Locker: l, Key: "a"})
	b := locktest.MustTryLock(t, l, "b", longTTL)
	locktest.WantLocked(t, both, "both")
	a := locktest.MustTryLock(t, l, "a", longTTL) // the multi-lock has released it
	check.NoError(t, a.Release(t.Context()))
	check.NoError(t, b.Release(t.Context()))
	lease := locktest.MustTryLock(t, both, "both", longTTL)
	locktest.WantLocked(t, l, "a")
	locktest.WantLocked(t, l, "b")
	check.NoError(t, l.ForceUnlock(t.Context(), "a"))
	if err := lease.Extend(t.Context(), longTTL); err == nil {
		t.Error("Extend with a lost part: no error")
	}
	if err := lease.Release(t.Context()); err == nil {
		t.Error("Release with a lost part: no error")
	}
	check.NoError(t, locktest.MustTryLock(t, l, "b", longTTL).Release(t.Context()))
}

// The server of one part stops replying after it has granted it, and the next part
// is refused. What was acquired is released as soon as the server replies again, and
// meanwhile delays no other part.
func TestMultiLockReleasesAPartWhoseServerWasSilent(t *testing.T) {
	t.Parallel()
	proxied, direct, p := throughProxy(t)
	other := newClient(t, labtest.Redis(t))
	locktest.MustTryLock(t, other.Lock(), "held", longTTL)
	silenced := partitioning{other.Lock(), p}
	l := redisson.NewMultiLock(
		redisson.Part{Locker: other.Lock(), Key: "a"}, redisson.Part{Locker: proxied.Lock(), Key: "b"},
		redisson.Part{Locker: silenced, Key: "held"})
	_, err := l.TryLock(t.Context(), "all", longTTL) // longer than a busy machine needs until b is looked at
	check.ErrorIs(t, err, lock.ErrLocked)
	locktest.MustTryLock(t, other.Lock(), "a", longTTL)
	locktest.WantLocked(t, direct.Lock(), "b")
	p.Heal()
	l.Drain(t.Context())
	locktest.MustTryLock(t, direct.Lock(), "b", longTTL)
}

// partitioning is a Locker whose requests cut the proxy off.
type partitioning struct {
	lock.Locker
	proxy *faultproxy.Proxy
}

func (p partitioning) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	p.proxy.Partition()
	return p.Locker.TryLock(ctx, key, ttl)
}

// A silent is a Locker that does not notify.
type silent struct{ lock.Locker }

// Its waiters poll then.
func TestMultiLockOfSilentPartsDoesNotNotify(t *testing.T) {
	t.Parallel()
	l := newClient(t, labtest.Redis(t)).Lock()
	multi := redisson.NewMultiLock(redisson.Part{Locker: silent{l}, Key: "a"}, redisson.Part{Locker: l, Key: "b"})
	if stop, err := multi.Notify("k", make(chan struct{}, 1)); err == nil {
		stop()
		t.Error("Notify returned no error, although a part does not notify")
	}
}
