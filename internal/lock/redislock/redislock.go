// Package redislock is a lock on one string key of Redis 7 or later. The value
// of the key is a random token of the lease, and its expiry is the lease's end.
//
// The lock is as safe as its Redis. A failover to a replica that has not yet
// received the key, or a restart without it, frees the lock while its holder
// still uses it. What must not happen twice needs a fence or a guard in the
// database.
package redislock

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
	"example.com/flashsale/internal/lock/driver/redisdriver"
)

var (
	//go:embed fenced.lua
	fencedLua    string
	fencedScript = redis.NewScript(fencedLua)
	//go:embed extend.lua
	extendLua    string
	extendScript = redis.NewScript(extendLua)
)

// fenceMemory is how long a fence is stored after its lease was acquired. After
// that the server's clock alone makes the next fence larger.
const fenceMemory = 24 * time.Hour

// A Locker locks the keys it is given, without a prefix. It has no resources of
// its own, except one pub/sub connection while anyone waits (in a cluster: one
// to each node), and one goroutine while it repeats releases.
type Locker struct {
	rdb      redis.UniversalClient
	cluster  bool
	requests batcher
	acquire  func(ctx context.Context, l *lease, ttl time.Duration) error // one request
	messages *redisdriver.Subscriber

	abandoned driver.Abandoned
}

// New returns a locker for many goroutines: requests that are made during one round trip
// are sent together in the next, a hundred in one script. In a cluster, where a script
// must not leave its slot, each is sent by itself. Its leases have no fence.
func New(rdb redis.UniversalClient) *Locker {
	l := &Locker{rdb: rdb, requests: batcher{rdb: rdb, publish: redisdriver.PublishCommand(rdb)},
		messages: redisdriver.NewSubscriber(rdb)}
	l.acquire = l.acquirePlain
	_, l.cluster = rdb.(*redis.ClusterClient)
	return l
}

// Fenced returns a locker whose leases have a fence: the server's time in
// microseconds, or the key's last fence plus one if that is larger. Fences
// increase even after a loss of data, unless the server's clock steps back
// meanwhile. The last fence is stored in FenceKey(key) for a day. Each lock is acquired
// by a script of its own.
//
// Fenced and other lockers of the same key exclude each other.
func Fenced(rdb redis.UniversalClient) *Locker {
	l := New(rdb)
	l.acquire = l.acquireFenced
	return l
}

// TryLock implements lock.Locker.
func (l *Locker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	lease := &lease{locker: l, key: key, token: rand.Text()}
	start := time.Now()
	lease.expiry.Begin(start.Add(ttl))
	err := l.acquire(ctx, lease, ttl)
	if err == nil {
		return lease, nil
	}
	if errors.Is(err, lock.ErrLocked) {
		return nil, err
	}
	l.abandoned.Release(ctx, start, lease.discard)
	return nil, fmt.Errorf("redislock: acquire %s: %w", key, err)
}

// Drain implements lock.Drainer.
func (l *Locker) Drain(ctx context.Context) { l.abandoned.Drain(ctx) }

// do returns the reply to one request.
func (l *Locker) do(ctx context.Context, r request) reply {
	if l.cluster {
		return l.requests.run(ctx, []request{r})[0]
	}
	return l.requests.do(ctx, r)
}

func (l *Locker) acquirePlain(ctx context.Context, lease *lease, ttl time.Duration) error {
	r := l.do(ctx, request{lease.key, lease.token, driver.Milliseconds(ttl)})
	lease.repeated = r.attempts > 1
	switch {
	case r.err != nil:
		return r.err
	case r.value == done:
		return nil
	case r.value > done:
		return r.unexpected()
	}
	return lock.Locked(redisdriver.TimeLeft(-r.value))
}

func (l *Locker) acquireFenced(ctx context.Context, lease *lease, ttl time.Duration) error {
	var attempts redisdriver.Attempts
	fence, err := redisdriver.Integer(redisdriver.Call(ctx, l.rdb, fencedScript,
		[]string{lease.key, FenceKey(lease.key)},
		lease.token, driver.Milliseconds(ttl), fenceMemory.Milliseconds(), &attempts))
	lease.repeated = attempts.Count() > 1
	switch {
	case err != nil:
		return err
	case fence <= 0:
		return lock.Locked(redisdriver.TimeLeft(-fence))
	}
	lease.fence = uint64(fence)
	return nil
}

// Notify implements lock.Notifier. The channel of a key has the key's name, so
// that it is in the same slot of a cluster.
func (l *Locker) Notify(key string, wake chan<- struct{}) (stop func(), err error) {
	return l.messages.Listen(key, wake), nil
}

// FenceKey returns the key that stores the last fence of key, in the same slot of a
// cluster. It has spaces, so that no lock can have it.
func FenceKey(key string) string { return "{" + redisdriver.HashTag(key) + "} fence " + key }
