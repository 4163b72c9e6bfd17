package redlock

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

// The key is free when fewer nodes refuse it than prevent a majority, here two of
// three. Zero is a node that does not know.
func TestRefusalTellsWhenAMajorityIsFree(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		left []time.Duration
		want time.Duration
	}{
		"two refuse":               {[]time.Duration{3, 1}, 1},
		"three refuse":             {[]time.Duration{3, 1, 2}, 2},
		"one of three knows":       {[]time.Duration{0, 0, 5}, 0},
		"two of three know":        {[]time.Duration{0, 7, 5}, 7},
		"two refuse and one knows": {[]time.Duration{0, 5}, 5},
	} {
		var r replies
		for _, left := range tc.left {
			r.add(lock.Locked(left))
		}
		err := r.locked(2)
		var left time.Duration
		if locked, ok := errors.AsType[*lock.LockedError](err); ok {
			left = locked.Left
		}
		if !errors.Is(err, lock.ErrLocked) || left != tc.want {
			t.Errorf("%s: %v with %d left, want ErrLocked with %d", name, err, left, tc.want)
		}
	}
}

// The holder has a majority only, so that every request of another gets the rest.
func TestRefusalByAMajorityTellsWhenItIsFree(t *testing.T) {
	t.Parallel()
	nodes := []lock.Locker{lock.Local(), lock.Local(), lock.Local()}
	for _, node := range nodes[:2] {
		locktest.MustTryLock(t, node, "k", time.Minute)
	}
	_, err := New(nodes...).TryLock(t.Context(), "k", time.Minute)
	locked, ok := errors.AsType[*lock.LockedError](err)
	if !ok || locked.Left < 30*time.Second || locked.Left > time.Minute {
		t.Errorf("%#v, want the time left of a minute's lease", err)
	}
}

// A lease is valid from before its request was sent, and for its ttl less the
// drift of the clocks.
func TestValidityEndsBeforeTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl, drift = time.Second, 12 * time.Millisecond
		start := time.Now()
		time.Sleep(ttl - drift - time.Nanosecond)
		if !isValid(start, ttl) {
			t.Error("invalid before the ttl less the drift is over")
		}
		time.Sleep(time.Nanosecond)
		if isValid(start, ttl) {
			t.Error("still valid when a fast clock may have ended the lease")
		}
	})
}

// A majority grants a ttl that drifting clocks may already have ended.
func TestMajorityThatMayHaveEndedIsNoLease(t *testing.T) {
	t.Parallel()
	const ended = 2 * time.Millisecond
	for _, refusals := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) { // where nodes reply at once
			nodes := []lock.Locker{lock.Local(), lock.Local(), lock.Local()}
			for _, node := range nodes[:refusals] {
				_ = locktest.MustTryLock(t, node, "k", time.Hour)
			}
			l := New(nodes...)
			_, err := l.TryLock(t.Context(), "k", ended)
			locktest.WantUnknown(t, err)
			locktest.WantUnknown(t, locktest.MustTryLock(t, l, "k", time.Minute).Extend(t.Context(), ended))
		})
	}
}

// The others' leases end between two attempts.
func TestSplitVoteIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := []lock.Locker{lock.Local(), lock.Local(), lock.Local()}
		for _, node := range nodes[:2] {
			_ = locktest.MustTryLock(t, node, "k", time.Millisecond)
		}
		_ = locktest.MustTryLock(t, New(nodes...), "k", time.Hour)
	})
}

// It would refuse the key to others until its ttl is over.
func TestNodeIsNotLockedAfterTheRelease(t *testing.T) {
	t.Parallel()
	node := lock.Local()
	l := &lease{locker: New(node), key: "k", timeout: time.Second, nodeLeases: make([]lock.Lease, 1)}
	l.end()
	if l.lacks(0) {
		t.Error("a lease that has ended asks for the node's")
	}
}
