package redlock_test

import (
	"context"
	"fmt"
	"math/bits"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redlock"
)

// Kills sets of each number of nodes. A majority of live nodes locks. A minority
// leaves the outcome unknown, which is not ErrLocked.
func TestAnyMinorityOfNodesMayFail(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	for _, mask := range []int{0, 0b00001, 0b10000, 0b01010, 0b11000, 0b00111, 0b11110, 0b11111} {
		t.Run(fmt.Sprintf("%05b", mask), func(t *testing.T) {
			var alive []int
			for i, s := range f.servers {
				if mask>>i&1 == 0 {
					alive = append(alive, i)
					continue
				}
				s.Kill()
				t.Cleanup(func() { check.NoError(t, s.Restart()) })
			}
			l, key := f.newLocker(t), labtest.Name(t)
			if bits.OnesCount(uint(mask)) > 2 {
				_, err := l.TryLock(t.Context(), key, time.Hour)
				locktest.WantUnknown(t, err)
			} else {
				lease := locktest.MustTryLock(t, l, key, time.Hour)
				locktest.WantLocked(t, f.newLocker(t), key)
				check.NoError(t, lease.Extend(t.Context(), time.Hour))
				check.NoError(t, lease.Release(t.Context()))
				check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
			}
			check.Eventually(t, "all nodes to release the key",
				func() bool { return f.countKeys(t, key, alive...) == 0 })
		})
	}
}

// One paused node causes no delay, and three cause a delay of one timeout.
func TestPausedNodesDelayByOneTimeoutAtMost(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	l, key := f.newLocker(t), labtest.Name(t)
	check.NoError(t, locktest.MustTryLock(t, l, key, time.Hour).Release(t.Context())) // opens the connections
	f.servers[1].Pause()
	const timeout = 450 * time.Millisecond // less than one
	took := timeout
	for attempt := 0; attempt < 5 && took >= timeout; attempt++ { // a busy machine causes delays as well
		start := time.Now()
		lease := locktest.MustTryLock(t, l, key, time.Hour)
		check.NoError(t, lease.Extend(t.Context(), time.Hour))
		check.NoError(t, lease.Release(t.Context()))
		took = time.Since(start)
	}
	if took >= timeout {
		t.Errorf("TryLock, Extend and Release with one paused node took %s", took)
	}
	f.servers[2].Pause()
	f.servers[3].Pause()
	const apart = 1200 * time.Millisecond // three one after the other take 1.5 s
	took = apart
	for attempt := 0; attempt < 5 && took >= apart; attempt++ {
		start := time.Now()
		_, err := l.TryLock(t.Context(), key, 2*time.Second)
		locktest.WantUnknown(t, err)
		took = time.Since(start)
	}
	if took >= apart {
		t.Errorf("TryLock with three paused nodes took %s", took)
	}
	for _, i := range []int{1, 2, 3} {
		f.servers[i].Resume()
	}
	check.Eventually(t, "a majority of nodes", func() bool {
		lease, err := l.TryLock(t.Context(), key, time.Hour)
		return err == nil && lease.Release(t.Context()) == nil
	})
}

// A node that restarts without its data is locked again by Extend, and counts
// from then on.
func TestExtendLocksNodesThatLostTheirLease(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	_, key, lease := f.lockAll(t)
	for _, i := range []int{0, 1} {
		f.servers[i].Kill()
		check.NoError(t, f.servers[i].Restart())
	}
	check.Eventually(t, "all nodes to grant the key again", func() bool {
		check.NoError(t, lease.Extend(t.Context(), time.Hour))
		return f.countKeys(t, key, 0, 1, 2, 3, 4) == 5
	})
	f.servers[2].Kill() // leaves one node of the first grant, and the two that were locked again
	f.servers[3].Kill()
	check.NoError(t, lease.Extend(t.Context(), time.Hour))
	check.NoError(t, lease.Release(t.Context()))
	check.Eventually(t, "all nodes to release the key", func() bool { return f.countKeys(t, key, 0, 1, 4) == 0 })
}

// Locking further nodes without a majority would acquire a lost lock again. The leases of
// the remaining nodes, which have stalled, are given up, and their releases get no reply.
func TestExtendLocksNoNodesAfterTheMajorityIsLost(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	l, key, lease := f.lockAll(t)
	f.flush(t, 0, 1, 2)
	f.servers[3].Pause()
	f.servers[4].Pause()
	check.ErrorIs(t, lease.Extend(t.Context(), time.Hour), lock.ErrLost)
	for _, i := range []int{3, 4} {
		f.servers[i].Resume()
		check.NoError(t, f.rdb[i].Ping(t.Context()).Err())
	}
	check.Eventually(t, "the resumed nodes to release the key",
		func() bool { return f.countKeys(t, key, 0, 1, 2, 3, 4) == 0 })
	check.ErrorIs(t, lease.Extend(t.Context(), time.Hour), lock.ErrLost)
	check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
	l.Drain(t.Context())
}

// Two unavailable nodes and one that lost its data: the unavailable ones may or
// may not have the majority's leases.
func TestUnavailableNodesLeaveTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	_, key, lease := f.lockAll(t)
	f.servers[0].Kill()
	f.servers[1].Kill()
	f.flush(t, 2)
	locktest.WantUnknown(t, lease.Extend(t.Context(), time.Hour))
	if f.countKeys(t, key, 2) != 0 {
		t.Error("Extend locked a node without a majority")
	}
	locktest.WantUnknown(t, lease.Release(t.Context()))
}

// A lateNode grants after proceed has been closed, even if its context has ended.
type lateNode struct {
	lock.Locker
	asked, proceed, granted chan struct{}
}

func newLateNode(l lock.Locker) *lateNode {
	return &lateNode{l, make(chan struct{}), make(chan struct{}), make(chan struct{})}
}

func (n *lateNode) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	close(n.asked)
	<-n.proceed
	defer close(n.granted)
	return n.Locker.TryLock(context.WithoutCancel(ctx), key, ttl)
}

// grant lets the node grant, and returns when it has granted.
func (n *lateNode) grant() {
	close(n.proceed)
	<-n.granted
}

// wantFree waits until a node does not have key.
func wantFree(t *testing.T, node lock.Locker, key string) {
	t.Helper()
	check.Eventually(t, "the late grant to be released", func() bool {
		lease, err := node.TryLock(t.Context(), key, time.Hour)
		return err == nil && lease.Release(t.Context()) == nil
	})
}

func TestGrantAfterReleaseIsReleased(t *testing.T) {
	t.Parallel()
	late := newLateNode(lock.Local())
	l := redlock.New(lock.Local(), lock.Local(), late)
	check.NoError(t, locktest.MustTryLock(t, l, "k", time.Hour).Release(t.Context()))
	late.grant()
	wantFree(t, late.Locker, "k")
}

func TestLateGrantCountsForTheMajority(t *testing.T) {
	t.Parallel()
	f, key := startNodes(t), labtest.Name(t)
	late := newLateNode(redislock.New(f.rdb[2]))
	l := redlock.New(redislock.New(f.rdb[0]), redislock.New(f.rdb[1]), late)
	lease, err := l.TryLock(t.Context(), key, time.Hour) // not to be released while Extend asks the nodes again
	check.NoError(t, err)
	late.grant()
	time.Sleep(50 * time.Millisecond) // long enough to release it, if it did not count
	f.flush(t, 0)
	check.NoError(t, lease.Extend(t.Context(), time.Hour))
}

func TestCancelledTryLockLeavesNoKeys(t *testing.T) {
	t.Parallel()
	nodes, late := make([]lock.Locker, 3), make([]*lateNode, 3)
	for i := range nodes {
		late[i] = newLateNode(lock.Local())
		nodes[i] = late[i]
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for _, node := range late {
			<-node.asked
		}
		cancel()
	}()
	_, err := redlock.New(nodes...).TryLock(ctx, "k", time.Hour)
	locktest.WantUnknown(t, err)
	check.ErrorIs(t, err, context.Canceled)
	for _, node := range late {
		node.grant()
		wantFree(t, node.Locker, "k")
	}
}

func TestMajorityAfterTheTimeoutIsReleased(t *testing.T) {
	t.Parallel()
	late := newLateNode(lock.Local())
	_, err := redlock.New(late).TryLock(t.Context(), "k", time.Second) // returns although the node does not
	locktest.WantUnknown(t, err)
	late.grant()
	wantFree(t, late.Locker, "k")
}

func TestNotifyNeedsOneNodeThatNotifies(t *testing.T) {
	t.Parallel()
	silent := &lateNode{}
	wake := make(chan struct{}, 1)
	stop, err := redlock.New(silent, lock.Local(), silent).Notify("k", wake)
	check.NoError(t, err)
	<-wake
	stop()
	if _, err := redlock.New(silent).Notify("k", wake); err == nil {
		t.Error("Notify succeeded without a node that notifies")
	}
}

// Every node stalls while a request is on its way to it. The caller gives up.
func TestNodesThatStallDuringARequestKeepNoKey(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	l, key := f.newLocker(t), labtest.Name(t)
	check.NoError(t, locktest.MustTryLock(t, l, key, time.Hour).Release(t.Context())) // opens the connections
	for _, s := range f.servers {
		s.Pause()
	}
	_, err := l.TryLock(t.Context(), key, time.Hour)
	locktest.WantUnknown(t, err)
	for _, s := range f.servers {
		s.Resume()
	}
	time.Sleep(100 * time.Millisecond) // until the servers have run what they had received
	check.Eventually(t, "all nodes to release the key",
		func() bool { return f.countKeys(t, key, 0, 1, 2, 3, 4) == 0 })
}

// drainedNode is a lock.Drainer.
type drainedNode struct {
	lock.Locker
	drained chan context.Context
}

func (d drainedNode) Drain(ctx context.Context) { d.drained <- ctx }

func TestDrainDrainsEveryNode(t *testing.T) {
	t.Parallel()
	drained := make(chan context.Context, 3)
	redlock.New(drainedNode{drained: drained}, drainedNode{drained: drained}, lock.None(),
		drainedNode{drained: drained}, lock.None()).Drain(t.Context())
	if n := len(drained); n != 3 {
		t.Errorf("%d nodes are drained, want 3", n)
	}
}
