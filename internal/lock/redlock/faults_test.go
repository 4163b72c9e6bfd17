package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redlock"
)

// Kills every possible set of nodes. A majority of live nodes locks. A minority
// leaves the outcome unknown, which is not ErrLocked.
func TestAnyMinorityOfNodesMayFail(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	for mask := range 1 << len(f.servers) {
		t.Run(fmt.Sprintf("%05b", mask), func(t *testing.T) {
			var alive []int
			for i, s := range f.servers {
				if mask>>i&1 == 0 {
					alive = append(alive, i)
					continue
				}
				s.Kill()
				t.Cleanup(func() { noError(t, "restart", s.Restart()) })
			}
			l, key := f.newLocker(t), labtest.Name(t)
			lease, err := l.TryLock(t.Context(), key, time.Minute)
			if bits.OnesCount(uint(mask)) > 2 {
				wantUnknown(t, "TryLock", err)
			} else {
				noError(t, "TryLock", err)
				if _, err := f.newLocker(t).TryLock(t.Context(), key, time.Minute); !errors.Is(err, lock.ErrLocked) {
					t.Errorf("second TryLock: %v, want ErrLocked", err)
				}
				noError(t, "Extend", lease.Extend(t.Context(), time.Minute))
				noError(t, "Release", lease.Release(t.Context()))
				wantLost(t, "second Release", lease.Release(t.Context()))
			}
			eventually(t, "all nodes to release the key", func() bool { return f.countKeys(t, key, alive...) == 0 })
		})
	}
}

// One paused node causes no delay, and three cause a delay of one timeout.
func TestPausedNodesDelayByOneTimeoutAtMost(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	l, key := f.newLocker(t), labtest.Name(t)
	noError(t, "Release", mustTryLock(t, l, key).Release(t.Context())) // opens the connections
	f.servers[1].Pause()
	const timeout = 450 * time.Millisecond // less than one
	took := timeout
	for attempt := 0; attempt < 5 && took >= timeout; attempt++ { // a busy machine causes delays as well
		start := time.Now()
		lease := mustTryLock(t, l, key)
		noError(t, "Extend", lease.Extend(t.Context(), time.Minute))
		noError(t, "Release", lease.Release(t.Context()))
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
		wantUnknown(t, "TryLock without a majority", err)
		took = time.Since(start)
	}
	if took >= apart {
		t.Errorf("TryLock with three paused nodes took %s", took)
	}
	for _, i := range []int{1, 2, 3} {
		f.servers[i].Resume()
	}
	eventually(t, "a majority of nodes", func() bool {
		lease, err := l.TryLock(t.Context(), key, time.Minute)
		return err == nil && lease.Release(t.Context()) == nil
	})
}

// A node that restarts without its data is locked again by Extend, and counts
// from then on.
func TestExtendLocksNodesThatLostTheirLease(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	l, key := f.newLocker(t), labtest.Name(t)
	lease := mustTryLock(t, l, key)
	eventually(t, "all nodes to grant the key", func() bool { return f.countKeys(t, key, 0, 1, 2, 3, 4) == 5 })
	for _, i := range []int{0, 1} {
		f.servers[i].Kill()
		noError(t, "restart", f.servers[i].Restart())
	}
	eventually(t, "all nodes to grant the key again", func() bool {
		noError(t, "Extend", lease.Extend(t.Context(), time.Minute))
		return f.countKeys(t, key, 0, 1, 2, 3, 4) == 5
	})
	f.servers[2].Kill() // leaves one node of the first grant, and the two that were locked again
	f.servers[3].Kill()
	noError(t, "Extend", lease.Extend(t.Context(), time.Minute))
	noError(t, "Release", lease.Release(t.Context()))
	eventually(t, "all nodes to release the key", func() bool { return f.countKeys(t, key, 0, 1, 4) == 0 })
}

// Locking further nodes without a majority would acquire a lost lock again.
func TestExtendLocksNoNodesAfterTheMajorityIsLost(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	l, key := f.newLocker(t), labtest.Name(t)
	lease := mustTryLock(t, l, key)
	eventually(t, "all nodes to grant the key", func() bool { return f.countKeys(t, key, 0, 1, 2, 3, 4) == 5 })
	f.flush(t, 0, 1, 2)
	wantLost(t, "Extend", lease.Extend(t.Context(), time.Minute))
	eventually(t, "the remaining nodes to release the key",
		func() bool { return f.countKeys(t, key, 0, 1, 2, 3, 4) == 0 })
	wantLost(t, "Extend", lease.Extend(t.Context(), time.Minute))
	wantLost(t, "Release", lease.Release(t.Context()))
}

// Two unavailable nodes and one that lost its data: the unavailable ones may or
// may not have the majority's leases.
func TestUnavailableNodesLeaveTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	l, key := f.newLocker(t), labtest.Name(t)
	lease := mustTryLock(t, l, key)
	eventually(t, "all nodes to grant the key", func() bool { return f.countKeys(t, key, 0, 1, 2, 3, 4) == 5 })
	f.servers[0].Kill()
	f.servers[1].Kill()
	f.flush(t, 2)
	wantUnknown(t, "Extend", lease.Extend(t.Context(), time.Minute))
	if f.countKeys(t, key, 2) != 0 {
		t.Error("Extend locked a node without a majority")
	}
	wantUnknown(t, "Release", lease.Release(t.Context()))
}

func TestOneOfManyConcurrentTryLocksSucceeds(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	var lockers []*redlock.Locker
	for range 8 {
		lockers = append(lockers, f.newLocker(t))
	}
	for range 50 {
		key := labtest.Name(t)
		var succeeded atomic.Int64
		var group sync.WaitGroup
		start := make(chan struct{})
		for _, l := range lockers {
			group.Go(func() {
				<-start
				_, err := l.TryLock(t.Context(), key, time.Minute)
				if err == nil {
					succeeded.Add(1)
				} else if !errors.Is(err, lock.ErrLocked) {
					t.Errorf("TryLock: %v, want a lease or ErrLocked", err)
				}
			})
		}
		close(start)
		group.Wait()
		if succeeded.Load() != 1 {
			t.Errorf("%d concurrent TryLocks of one key succeeded, want 1", succeeded.Load())
		}
	}
}

// A lateNode grants after proceed has been closed, even if its context has ended.
type lateNode struct {
	lock.Locker
	asked, proceed, granted chan struct{}
}

func newLateNode(rdb redis.UniversalClient) *lateNode {
	return &lateNode{redislock.New(rdb), make(chan struct{}), make(chan struct{}), make(chan struct{})}
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

// newLockerWithLateNode returns a locker over three nodes. The last is late.
func (f *fiveNodes) newLockerWithLateNode() (*redlock.Locker, *lateNode) {
	late := newLateNode(f.rdb[2])
	return redlock.New(redislock.New(f.rdb[0]), redislock.New(f.rdb[1]), late), late
}

func TestGrantAfterReleaseIsReleased(t *testing.T) {
	t.Parallel()
	f, key := startNodes(t), labtest.Name(t)
	l, late := f.newLockerWithLateNode()
	noError(t, "Release", mustTryLock(t, l, key).Release(t.Context()))
	late.grant()
	eventually(t, "the late grant to be released", func() bool { return f.countKeys(t, key, 2) == 0 })
}

func TestLateGrantCountsForTheMajority(t *testing.T) {
	t.Parallel()
	f, key := startNodes(t), labtest.Name(t)
	l, late := f.newLockerWithLateNode()
	lease := mustTryLock(t, l, key)
	late.grant()
	time.Sleep(50 * time.Millisecond) // long enough to release it, if it did not count
	f.flush(t, 0)
	noError(t, "Extend with the late node in the majority", lease.Extend(t.Context(), time.Minute))
}

func TestCancelledTryLockLeavesNoKeys(t *testing.T) {
	t.Parallel()
	f, key := startNodes(t), labtest.Name(t)
	nodes, late := make([]lock.Locker, 3), make([]*lateNode, 3)
	for i := range nodes {
		late[i] = newLateNode(f.rdb[i])
		nodes[i] = late[i]
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for _, node := range late {
			<-node.asked
		}
		cancel()
	}()
	_, err := redlock.New(nodes...).TryLock(ctx, key, time.Minute)
	wantUnknown(t, "TryLock", err)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("TryLock: %v, want the end of its context and not of its timeout", err)
	}
	for _, node := range late {
		node.grant()
	}
	eventually(t, "the late grants to be released", func() bool { return f.countKeys(t, key, 0, 1, 2) == 0 })
}

func TestMajorityAfterTheTimeoutIsReleased(t *testing.T) {
	t.Parallel()
	f, key := startNodes(t), labtest.Name(t)
	late := newLateNode(f.rdb[0])
	_, err := redlock.New(late).TryLock(t.Context(), key, time.Second) // returns although the node does not
	wantUnknown(t, "TryLock", err)
	late.grant()
	eventually(t, "the late grant to be released", func() bool { return f.countKeys(t, key, 0) == 0 })
}

func TestNotifyNeedsOneNodeThatNotifies(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	silent := &lateNode{Locker: redislock.New(f.rdb[0])}
	wake := make(chan struct{}, 1)
	stop, err := redlock.New(silent, redislock.New(f.rdb[1]), silent).Notify(labtest.Name(t), wake)
	noError(t, "Notify", err)
	<-wake
	stop()
	if _, err := redlock.New(silent).Notify(labtest.Name(t), wake); err == nil {
		t.Error("Notify succeeded without a node that notifies")
	}
}

// The majority's grants are given up because the third comes too late. Meanwhile
// the nodes have stalled, so that the releases get no reply.
func TestStalledNodesKeepNoKey(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	l, key := f.newLocker(t), labtest.Name(t)
	lease := mustTryLock(t, l, key)
	eventually(t, "all nodes to grant the key", func() bool { return f.countKeys(t, key, 0, 1, 2, 3, 4) == 5 })
	f.flush(t, 0, 1, 2)
	f.servers[3].Pause()
	f.servers[4].Pause()
	wantLost(t, "Extend", lease.Extend(t.Context(), time.Minute)) // gives up the leases of the paused nodes
	for _, i := range []int{3, 4} {
		rdb := f.rdb[i].(*redis.Client)
		f.servers[i].Resume()
		noError(t, "PING", rdb.Ping(t.Context()).Err())
	}
	eventually(t, "the resumed nodes to release the key", func() bool { return f.countKeys(t, key, 3, 4) == 0 })
	l.Drain(t.Context())
}

// Every node stalls while a request is on its way to it. The caller gives up.
func TestNodesThatStallDuringARequestKeepNoKey(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	l, key := f.newLocker(t), labtest.Name(t)
	noError(t, "Release", mustTryLock(t, l, key).Release(t.Context())) // opens the connections
	for _, s := range f.servers {
		s.Pause()
	}
	_, err := l.TryLock(t.Context(), key, time.Hour)
	wantUnknown(t, "TryLock", err)
	for _, s := range f.servers {
		s.Resume()
	}
	time.Sleep(100 * time.Millisecond) // until the servers have run what they had received
	eventually(t, "all nodes to release the key", func() bool { return f.countKeys(t, key, 0, 1, 2, 3, 4) == 0 })
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
