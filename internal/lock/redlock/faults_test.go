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

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redlock"
)

// Every set of dead nodes: a majority alive locks, a minority does not, and
// does not take that for another holder.
func TestAnyMinorityMayDie(t *testing.T) {
	t.Parallel()
	f := start(t)
	for mask := range 1 << len(f.servers) {
		t.Run(fmt.Sprintf("%05b", mask), func(t *testing.T) {
			var alive []int
			for i, s := range f.servers {
				if mask>>i&1 == 0 {
					alive = append(alive, i)
					continue
				}
				s.Kill()
				t.Cleanup(func() { fine(t, "restart", s.Restart()) })
			}
			l, key := f.lock(t), labtest.Name(t)
			lease, err := l.TryLock(t.Context(), key, time.Minute)
			if bits.OnesCount(uint(mask)) > 2 {
				unknown(t, "TryLock", err)
			} else {
				fine(t, "TryLock", err)
				if _, err := f.lock(t).TryLock(t.Context(), key, time.Minute); !errors.Is(err, lock.ErrLocked) {
					t.Errorf("second TryLock: %v, want ErrLocked", err)
				}
				fine(t, "Extend", lease.Extend(t.Context(), time.Minute))
				fine(t, "Release", lease.Release(t.Context()))
				lost(t, "second Release", lease.Release(t.Context()))
			}
			soon(t, "waited for all to let go", func() bool { return f.on(t, key, alive...) == 0 })
		})
	}
}

// One slow node costs no time, and three cost one timeout.
func TestSlowNodesDelayByATimeoutAtMost(t *testing.T) {
	t.Parallel()
	f := start(t)
	l, key := f.lock(t), labtest.Name(t)
	fine(t, "Release", take(t, l, key).Release(t.Context())) // connections are open now
	f.servers[1].Pause()
	began := time.Now()
	lease := take(t, l, key)
	fine(t, "Extend", lease.Extend(t.Context(), time.Minute))
	fine(t, "Release", lease.Release(t.Context()))
	if took := time.Since(began); took > 450*time.Millisecond { // less than one timeout
		t.Errorf("a cycle beside one slow node took %s", took)
	}
	f.servers[2].Pause()
	f.servers[3].Pause()
	began = time.Now()
	_, err := l.TryLock(t.Context(), key, 2*time.Second)
	unknown(t, "TryLock without a majority", err)
	if took := time.Since(began); took > 1200*time.Millisecond {
		t.Errorf("TryLock beside three slow nodes took %s", took)
	}
	for _, i := range []int{1, 2, 3} {
		f.servers[i].Resume()
	}
	soon(t, "waited for a majority", func() bool {
		lease, err := l.TryLock(t.Context(), key, time.Minute)
		return err == nil && lease.Release(t.Context()) == nil
	})
}

// A node that comes back empty is asked for the lease again, and then counts.
func TestRenewalTopsUpTheMinority(t *testing.T) {
	t.Parallel()
	f := start(t)
	l, key := f.lock(t), labtest.Name(t)
	lease := take(t, l, key)
	soon(t, "waited for all to grant", func() bool { return f.on(t, key, 0, 1, 2, 3, 4) == 5 })
	for _, i := range []int{0, 1} {
		f.servers[i].Kill()
		fine(t, "restart", f.servers[i].Restart())
	}
	soon(t, "waited for all to grant again", func() bool {
		fine(t, "Extend", lease.Extend(t.Context(), time.Minute))
		return f.on(t, key, 0, 1, 2, 3, 4) == 5
	})
	f.servers[2].Kill() // one of those that granted first is left, and the two
	f.servers[3].Kill()
	fine(t, "Extend", lease.Extend(t.Context(), time.Minute))
	fine(t, "Release", lease.Release(t.Context()))
	soon(t, "waited for all to let go", func() bool { return f.on(t, key, 0, 1, 4) == 0 })
}

// Without a majority there is nothing to top up: that would bring a lost lock
// back to life.
func TestLostMajorityIsNotToppedUp(t *testing.T) {
	t.Parallel()
	f := start(t)
	l, key := f.lock(t), labtest.Name(t)
	lease := take(t, l, key)
	soon(t, "waited for all to grant", func() bool { return f.on(t, key, 0, 1, 2, 3, 4) == 5 })
	f.forget(t, 0, 1, 2)
	lost(t, "Extend", lease.Extend(t.Context(), time.Minute))
	soon(t, "waited for the rest to let go", func() bool { return f.on(t, key, 0, 1, 2, 3, 4) == 0 })
	lost(t, "Extend", lease.Extend(t.Context(), time.Minute))
	lost(t, "Release", lease.Release(t.Context()))
}

// With two dead and one that forgot, nobody can say what the dead would.
func TestDoubtIsNotLoss(t *testing.T) {
	t.Parallel()
	f := start(t)
	l, key := f.lock(t), labtest.Name(t)
	lease := take(t, l, key)
	soon(t, "waited for all to grant", func() bool { return f.on(t, key, 0, 1, 2, 3, 4) == 5 })
	f.servers[0].Kill()
	f.servers[1].Kill()
	f.forget(t, 2)
	unknown(t, "Extend", lease.Extend(t.Context(), time.Minute))
	if f.on(t, key, 2) != 0 {
		t.Error("topped up without a majority")
	}
	unknown(t, "Release", lease.Release(t.Context()))
}

// Of a crowd that splits the vote one wins, every time.
func TestSplitVotesAreResolved(t *testing.T) {
	t.Parallel()
	f := start(t)
	var lockers []*redlock.Locker
	for range 8 {
		lockers = append(lockers, f.lock(t))
	}
	for range 50 {
		key := labtest.Name(t)
		var won atomic.Int64
		var group sync.WaitGroup
		begin := make(chan struct{})
		for _, l := range lockers {
			group.Go(func() {
				<-begin
				_, err := l.TryLock(t.Context(), key, time.Minute)
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, lock.ErrLocked) {
					t.Errorf("TryLock: %v, want ErrLocked", err)
				}
			})
		}
		close(begin)
		group.Wait()
		if won.Load() != 1 {
			t.Errorf("%d winners, want 1", won.Load())
		}
	}
}

// A late node grants after a while, whatever its context.
type late struct {
	lock.Locker
	by      time.Duration
	granted chan struct{}
}

func (n *late) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	time.Sleep(n.by)
	defer close(n.granted)
	return n.Locker.TryLock(context.WithoutCancel(ctx), key, ttl)
}

// withLate is a redlock over three nodes, the last of which is late.
func (f *five) withLate() (*redlock.Locker, *late) {
	slow := &late{redislock.New(f.rdb[2]), 100 * time.Millisecond, make(chan struct{})}
	return redlock.New(redislock.New(f.rdb[0]), redislock.New(f.rdb[1]), slow), slow
}

func TestLateGrantIsLetGo(t *testing.T) {
	t.Parallel()
	f, key := start(t), labtest.Name(t)
	l, slow := f.withLate()
	fine(t, "Release", take(t, l, key).Release(t.Context()))
	<-slow.granted
	soon(t, "waited for the late grant to go", func() bool { return f.on(t, key, 2) == 0 })
}

func TestLateGrantCounts(t *testing.T) {
	t.Parallel()
	f, key := start(t), labtest.Name(t)
	l, slow := f.withLate()
	lease := take(t, l, key)
	<-slow.granted
	time.Sleep(50 * time.Millisecond) // enough to let go of it
	f.forget(t, 0)
	fine(t, "Extend, by the late node's vote", lease.Extend(t.Context(), time.Minute))
}

// A caller who leaves gets nothing, and leaves nothing behind.
func TestCancelledTryLeavesNothing(t *testing.T) {
	t.Parallel()
	f, key := start(t), labtest.Name(t)
	nodes, slow := make([]lock.Locker, 3), make([]*late, 3)
	for i := range nodes {
		slow[i] = &late{redislock.New(f.rdb[i]), 100 * time.Millisecond, make(chan struct{})}
		nodes[i] = slow[i]
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := redlock.New(nodes...).TryLock(ctx, key, time.Minute)
	unknown(t, "TryLock", err)
	if took := time.Since(began); took > 90*time.Millisecond {
		t.Errorf("it took %s to leave", took)
	}
	for _, node := range slow {
		<-node.granted
	}
	soon(t, "waited for late grants to go", func() bool { return f.on(t, key, 0, 1, 2) == 0 })
}

// A majority that comes after the timeout is none.
func TestGrantTooLateIsNone(t *testing.T) {
	t.Parallel()
	f, key := start(t), labtest.Name(t)
	slow := &late{redislock.New(f.rdb[0]), time.Second, make(chan struct{})}
	began := time.Now()
	_, err := redlock.New(slow).TryLock(t.Context(), key, time.Second)
	unknown(t, "TryLock", err)
	if took := time.Since(began); took > 900*time.Millisecond {
		t.Errorf("it waited %s for a node, and the timeout is 250ms", took)
	}
	<-slow.granted
	soon(t, "waited for the late grant to go", func() bool { return f.on(t, key, 0) == 0 })
}

func TestNotifyNeedsOneNode(t *testing.T) {
	t.Parallel()
	f := start(t)
	silent := &late{Locker: redislock.New(f.rdb[0])}
	wake := make(chan struct{}, 1)
	stop, err := redlock.New(silent, redislock.New(f.rdb[1]), silent).Notify(labtest.Name(t), wake)
	fine(t, "Notify", err)
	<-wake
	stop()
	if _, err := redlock.New(silent).Notify(labtest.Name(t), wake); err == nil {
		t.Error("Notify succeeded without a node that notifies")
	}
}
