package redisson

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

// A court is a fair lock with its keys.
type court struct {
	RFairLock
	t             *testing.T
	rdb           redis.UniversalClient
	name          string
	queue, scores string
}

func newCourt(t *testing.T) *court {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	f := New(rdb, Auto).FairLock()
	keys := f.typ.keys("court", "")
	return &court{f, t, rdb, "court", keys[1], keys[2]}
}

func (c *court) take() lock.Lease {
	c.t.Helper()
	lease, err := c.TryLock(c.t.Context(), c.name, time.Minute)
	c.must(err)
	return lease
}

func (c *court) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// waiter joins the queue in the background and reports its end.
func (c *court) waiter(ctx context.Context) <-chan error {
	c.t.Helper()
	before := c.length()
	done := make(chan error, 1)
	go func() {
		lease, err := c.Lock(ctx, c.name, time.Minute)
		if err == nil {
			err = lease.Release(context.Background())
		}
		done <- err
	}()
	for c.length() == before {
		time.Sleep(time.Millisecond)
	}
	return done
}

func (c *court) length() int {
	c.t.Helper()
	queue, err := c.Queue(c.t.Context(), c.name)
	c.must(err)
	return len(queue)
}

// corpse queues an owner that never asks again.
func (c *court) corpse() string {
	c.t.Helper()
	owner := c.c.newOwner()
	if _, _, err := c.try(c.t.Context(), c.name, owner, time.Minute, 1); !errors.Is(err, lock.ErrLocked) {
		c.t.Fatal(err)
	}
	return owner
}

// javas queues a Java waiter as Redisson does, with its clock's deadline.
func (c *court) javas(n int, wait time.Duration) string {
	c.t.Helper()
	owner := fmt.Sprintf("b983c153-7421-469a-addb-44fb92259a1b:%d", n)
	ctx := c.t.Context()
	_, err := c.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.RPush(ctx, c.queue, owner)
		p.ZAdd(ctx, c.scores, redis.Z{Score: float64(time.Now().Add(wait).UnixMilli()), Member: owner})
		return nil
	})
	c.must(err)
	return owner
}

// javaLeaves does what Redisson's scripts do when a waiter leaves the queue, at
// once as they do: our waiters may ask at any moment.
func (c *court) javaLeaves(owner string, wait time.Duration) {
	c.t.Helper()
	const script = `
		redis.call('lrem', KEYS[1], 1, ARGV[1])
		redis.call('zrem', KEYS[2], ARGV[1])
		for _, other in ipairs(redis.call('zrange', KEYS[2], 0, -1)) do
			redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), other)
		end
		return 1`
	c.must(c.rdb.Eval(c.t.Context(), script, []string{c.queue, c.scores}, owner, wait.Milliseconds()).Err())
}

func (c *court) within(what string, limit time.Duration, done <-chan error) {
	c.t.Helper()
	select {
	case err := <-done:
		c.must(err)
	case <-time.After(limit):
		c.t.Fatalf("%s: not within %s", what, limit)
	}
}

// scripts is how many scripts the server has run.
func (c *court) scripts() (n int) {
	c.t.Helper()
	for line := range strings.Lines(c.rdb.Info(c.t.Context(), "commandstats").Val()) {
		_, _ = fmt.Sscanf(line, "cmdstat_evalsha:calls=%d", &n)
	}
	return n
}

func TestDeadFairWaiterLeavesWithinSeconds(t *testing.T) {
	c := newCourt(t)
	held := c.take()
	c.corpse()
	next := c.waiter(t.Context())
	c.must(held.Release(t.Context()))
	c.within("the one behind the dead waiter", 6*time.Second, next)
}

// TestLivingFairWaiterKeepsItsPlace for longer than its patience.
func TestLivingFairWaiterKeepsItsPlace(t *testing.T) {
	c := newCourt(t)
	held := c.take()
	first := c.waiter(t.Context())
	queue, err := c.Queue(t.Context(), c.name)
	c.must(err)
	second := c.waiter(t.Context())
	time.Sleep(4500 * time.Millisecond)
	now, err := c.Queue(t.Context(), c.name)
	c.must(err)
	if len(now) != 2 || now[0] != queue[0] {
		t.Errorf("queue %v, began with %v", now, queue)
	}
	c.must(held.Release(t.Context()))
	c.within("the first", 3*time.Second, first)
	c.within("the second", 3*time.Second, second)
}

func TestCancelledFairWaiterLeavesAtOnce(t *testing.T) {
	c := newCourt(t)
	c.take()
	ctx, cancel := context.WithCancel(t.Context())
	gone := c.waiter(ctx)
	stays := c.waiter(t.Context())
	cancel()
	if err := <-gone; !errors.Is(err, lock.ErrLocked) || !errors.Is(err, context.Canceled) {
		t.Errorf("gave up with %v", err)
	}
	if n := c.length(); n != 1 {
		t.Errorf("%d in the queue, want the one that stays", n)
	}
	c.must(c.ForceUnlock(t.Context(), c.name))
	c.within("the one that stays", time.Second, stays)
}

// TestLeavingHeadWakesTheNext when the lock is free already.
func TestLeavingHeadWakesTheNext(t *testing.T) {
	c := newCourt(t)
	held := c.take()
	head := c.corpse()
	next := c.waiter(t.Context())
	time.Sleep(1500 * time.Millisecond) // it has asked again, and listens
	c.must(held.Release(t.Context()))
	_, err := (&lease{locker: c.locker, key: c.name, owner: head}).drop(t.Context())
	c.must(err)
	c.within("the next", 400*time.Millisecond, next) // its heartbeat is a second
}

func TestTryLockDoesNotOvertake(t *testing.T) {
	c := newCourt(t)
	held := c.take()
	c.corpse()
	c.must(held.Release(t.Context()))
	if _, err := c.TryLock(t.Context(), c.name, time.Minute); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock while another is next: %v, want ErrLocked", err)
	}
	if n := c.length(); n != 1 {
		t.Errorf("%d in the queue after a TryLock, want 1", n)
	}
}

// TestFairWaiterDoesNotSpin while a head that does not come blocks a free lock,
// where Redisson's script says to ask again after 0 ms.
func TestFairWaiterDoesNotSpin(t *testing.T) {
	c := newCourt(t)
	head := c.javas(1, 5*time.Minute)
	next := c.waiter(t.Context())
	before := c.scripts()
	time.Sleep(3 * time.Second)
	if n := c.scripts() - before; n < 2 || n > 5 {
		t.Errorf("%d scripts in 3 s, want one per heartbeat", n)
	}
	c.javaLeaves(head, 5*time.Minute)
	c.within("the next", 2*time.Second, next)
}

// TestJavaLeavingSparesGoWaiters: it takes minutes off their deadlines.
func TestJavaLeavingSparesGoWaiters(t *testing.T) {
	c := newCourt(t)
	held := c.take()
	one, two := c.javas(1, 5*time.Minute), c.javas(2, 10*time.Minute)
	c.waiter(t.Context())
	before, err := c.Queue(t.Context(), c.name)
	c.must(err)
	c.javaLeaves(one, 5*time.Minute)
	c.javaLeaves(two, 5*time.Minute)
	c.corpse() // whoever asks drops those whose time is up
	after, err := c.Queue(t.Context(), c.name)
	c.must(err)
	if len(after) != 2 || after[0] != before[2] {
		t.Errorf("queue %v, want the Go waiter %s to keep its place", after, before[2])
	}
	c.must(held.Release(t.Context()))
}

// TestDeadWaiterBehindJavaLeavesWithinSeconds of becoming the head, though its
// deadline had to be far.
func TestDeadWaiterBehindJavaLeavesWithinSeconds(t *testing.T) {
	c := newCourt(t)
	held := c.take()
	java := c.javas(1, time.Minute)
	c.corpse()
	next := c.waiter(t.Context())
	c.must(held.Release(t.Context()))
	c.javaLeaves(java, time.Second) // it took off less than was allowed for
	c.within("the one behind the dead waiter", 6*time.Second, next)
}
