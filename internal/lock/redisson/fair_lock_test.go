package redisson

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

// A fairFixture is a fair lock with one key, alone on a server.
type fairFixture struct {
	RFairLock
	t             *testing.T
	rdb           redis.UniversalClient
	key           string
	queue, scores string // the side keys of the lock
}

func newFairFixture(t *testing.T) *fairFixture {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	l := New(rdb).FairLock()
	keys := l.typ.keys("fair", "")
	return &fairFixture{l, t, rdb, "fair", keys[1], keys[2]}
}

func (f *fairFixture) mustTryLock() lock.Lease {
	f.t.Helper()
	lease, err := f.TryLock(f.t.Context(), f.key, time.Minute)
	check.NoError(f.t, err)
	return lease
}

// waiter starts a goroutine that acquires and releases the lock, and returns
// when the goroutine has joined the queue. The channel gets its result.
func (f *fairFixture) waiter(ctx context.Context) <-chan error {
	f.t.Helper()
	before := len(f.mustQueue())
	done := locktest.Wait(ctx, f, f.key, time.Minute)
	check.Eventually(f.t, "the waiter is in the queue", func() bool { return len(f.mustQueue()) > before })
	return done
}

func (f *fairFixture) mustQueue() []string {
	f.t.Helper()
	queue, err := f.Queue(f.t.Context(), f.key)
	check.NoError(f.t, err)
	return queue
}

// deadWaiter adds an owner to the queue that sends no further request.
func (f *fairFixture) deadWaiter() string {
	f.t.Helper()
	owner := f.c.newOwner()
	if _, _, err := f.try(f.t.Context(), f.key, owner, time.Minute, 1); !errors.Is(err, lock.ErrLocked) {
		f.t.Fatal(err)
	}
	return owner
}

// javaWaiter adds a Java waiter to the queue as Redisson does, with a deadline by
// the local clock.
func (f *fairFixture) javaWaiter(n int, wait time.Duration) string {
	f.t.Helper()
	owner := fmt.Sprintf("b983c153-7421-469a-addb-44fb92259a1b:%d", n)
	ctx := f.t.Context()
	_, err := f.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.RPush(ctx, f.queue, owner)
		p.ZAdd(ctx, f.scores, redis.Z{Score: float64(time.Now().Add(wait).UnixMilli()), Member: owner})
		return nil
	})
	check.NoError(f.t, err)
	return owner
}

// javaWaiterLeaves does what Redisson's scripts do when a waiter leaves the
// queue. It is one script, as in Redisson, because Go waiters send requests
// meanwhile.
func (f *fairFixture) javaWaiterLeaves(owner string, wait time.Duration) {
	f.t.Helper()
	const script = `
		redis.call('lrem', KEYS[1], 1, ARGV[1])
		redis.call('zrem', KEYS[2], ARGV[1])
		for _, other in ipairs(redis.call('zrange', KEYS[2], 0, -1)) do
			redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), other)
		end
		return 1`
	keys := []string{f.queue, f.scores}
	check.NoError(f.t, f.rdb.Eval(f.t.Context(), script, keys, owner, wait.Milliseconds()).Err())
}

// wantDone fails unless the waiter succeeds within limit.
func (f *fairFixture) wantDone(waiter string, limit time.Duration, done <-chan error) {
	f.t.Helper()
	select {
	case err := <-done:
		check.NoError(f.t, err)
	case <-time.After(limit):
		f.t.Fatalf("%s: no lock within %s", waiter, limit)
	}
}

// scriptCalls returns how many scripts the server has run.
func (f *fairFixture) scriptCalls() (n int) {
	f.t.Helper()
	for line := range strings.Lines(f.rdb.Info(f.t.Context(), "commandstats").Val()) {
		_, _ = fmt.Sscanf(line, "cmdstat_evalsha:calls=%d", &n)
	}
	return n
}

// The wait is longer than go_timeout in fair_queue.lua.
func TestLiveGoWaiterKeepsItsPlace(t *testing.T) {
	f := newFairFixture(t)
	holder := f.mustTryLock()
	first := f.waiter(t.Context())
	before := f.mustQueue()
	second := f.waiter(t.Context())
	time.Sleep(4500 * time.Millisecond)
	after := f.mustQueue()
	if len(after) != 2 || after[0] != before[0] {
		t.Errorf("queue %v, want 2 waiters, first %s", after, before[0])
	}
	check.NoError(f.t, holder.Release(t.Context()))
	f.wantDone("the first", 3*time.Second, first)
	f.wantDone("the second", 3*time.Second, second)
}

func TestHeadThatLeavesAFreeLockNotifiesTheNext(t *testing.T) {
	f := newFairFixture(t)
	holder := f.mustTryLock()
	head := f.deadWaiter()
	next := f.waiter(t.Context())
	channel := f.typ.channel(f.key) + ":" + f.mustQueue()[1]
	notified := f.rdb.Subscribe(t.Context(), channel)
	defer notified.Close()
	check.Eventually(t, "the waiter and this test have subscribed", func() bool {
		return f.rdb.PubSubNumSub(t.Context(), channel).Val()[channel] == 2
	})
	check.NoError(f.t, holder.Release(t.Context()))
	_, err := (&lease{locker: f.locker, key: f.key, owner: head}).remove(t.Context())
	check.NoError(f.t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = notified.ReceiveMessage(ctx) // it need not wait for its heartbeat
	check.NoError(f.t, err)
	f.wantDone("the next", 20*time.Second, next)
}

// The lock is free, but the head of the queue does not acquire it. Redisson's
// script then tells the other waiters to try again after 0 ms. The head is removed,
// because its process may have died.
func TestWaiterBehindAnAbsentHeadDoesNotSpin(t *testing.T) {
	f := newFairFixture(t)
	f.javaWaiter(1, 5*time.Minute)
	next := f.waiter(t.Context())
	before := f.scriptCalls()
	f.wantDone("the next", 20*time.Second, next)
	if n := f.scriptCalls() - before; n < 3 || n > 7 {
		t.Errorf("%d scripts until the head was removed after 3 s, want 3 to 7, one per heartbeat", n)
	}
}

// A Java waiter that leaves subtracts minutes from the deadlines of the others.
func TestGoWaiterKeepsItsPlaceWhenJavaWaitersLeave(t *testing.T) {
	f := newFairFixture(t)
	holder := f.mustTryLock()
	java1, java2 := f.javaWaiter(1, 5*time.Minute), f.javaWaiter(2, 10*time.Minute)
	f.waiter(t.Context())
	before := f.mustQueue()
	f.javaWaiterLeaves(java1, 5*time.Minute)
	f.javaWaiterLeaves(java2, 5*time.Minute)
	f.deadWaiter() // its request removes expired waiters
	after := f.mustQueue()
	if len(after) != 2 || after[0] != before[2] {
		t.Errorf("queue %v, want the Go waiter %s first", after, before[2])
	}
	check.NoError(f.t, holder.Release(t.Context()))
}

// The deadline of a waiter behind a Java waiter is minutes ahead. It is moved
// when the waiter becomes the head.
func TestDeadGoWaiterBehindJavaIsRemovedWithinSeconds(t *testing.T) {
	f := newFairFixture(t)
	holder := f.mustTryLock()
	java := f.javaWaiter(1, time.Minute)
	f.deadWaiter()
	next := f.waiter(t.Context())
	check.NoError(f.t, holder.Release(t.Context()))
	f.javaWaiterLeaves(java, time.Second) // it subtracts less than the allowance
	f.wantDone("the waiter behind the dead one", 6*time.Second, next)
}

// A Java waiter joins with the deadline of the waiter before it, and its own wait. The
// allowances of Go waiters must not add up those before them once more.
func TestDeadlinesOfAMixedQueueDoNotDouble(t *testing.T) {
	f := newFairFixture(t)
	f.mustTryLock()
	const pairs, each = 10, 5*time.Minute + 10*time.Second
	ahead := time.Duration(0)
	for n := range pairs {
		f.javaWaiter(n, ahead+5*time.Second)
		ahead = time.Until(time.UnixMilli(int64(f.rdb.ZScore(t.Context(), f.scores, f.deadWaiter()).Val())))
	}
	if ahead > pairs*each {
		t.Errorf("the deadline behind %d Java waiters is %s ahead, want %s at most", pairs, ahead, pairs*each)
	}
}
