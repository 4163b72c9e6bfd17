package locktest

import (
	"context"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
)

// A Member is a server of an ensemble.
type Member interface {
	Disconnect() error
	Rejoin() error
	Kill()
}

// RunEnsemble partitions the leader of an ensemble, and then kills the next one, while a
// lock is held for ttl. Open returns a client that is connected to a member if the
// driver's client is connected to one at a time, or to any if the member is zero.
func RunEnsemble[M Member](
	t *testing.T, leader func() (M, error), ttl time.Duration, open func(t *testing.T, m M) lock.Locker,
) {
	for _, fault := range []struct {
		name string
		make func(M) error
		heal func(M) error
	}{
		{"LeasesOutliveThePartitionOfTheLeader", M.Disconnect, M.Rejoin},
		{"LeasesOutliveTheEndOfTheLeader", func(m M) error { m.Kill(); return nil }, func(M) error { return nil }},
	} {
		t.Run(fault.name, func(t *testing.T) {
			m, err := leader()
			check.NoError(t, err)
			key := newKey()
			held := MustTryLock(t, open(t, m), key, ttl)
			check.NoError(t, fault.make(m))
			var anyMember M
			other := open(t, anyMember)
			check.NoError(t, verdict(t, func(ctx context.Context) error { return held.Extend(ctx, ttl) }))
			tryLock := func(ctx context.Context) error {
				next, err := other.TryLock(ctx, key, time.Second)
				if err == nil && next.Fence() <= held.Fence() {
					t.Errorf("fence %d after %d, want a higher one", next.Fence(), held.Fence())
				}
				return err
			}
			check.ErrorIs(t, verdict(t, tryLock), lock.ErrLocked)
			check.NoError(t, verdict(t, held.Release))
			// What its refused attempt has left may still be there.
			check.Eventually(t, "the other client has the lock", func() bool { return tryLock(t.Context()) == nil })
			check.NoError(t, fault.heal(m))
		})
	}
}
