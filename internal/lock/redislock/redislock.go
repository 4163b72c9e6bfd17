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
	//go:embed acquire.lua
	acquireLua    string
	acquireScript = redis.NewScript(acquireLua)
	//go:embed release.lua
	releaseLua    string
	releaseScript = redis.NewScript(releaseLua)
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
	set      setter
	batchers *batchers // of Batched; nil sends each request by itself
	fenced   bool
	publish  string // the command that notifies waiters
	messages *redisdriver.Subscriber

	abandoned driver.Abandoned
}

// A setter sends the SET that acquires a lock. Every client is one.
type setter interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// New returns a locker whose TryLock is one plain SET, for a waiter one script. The
// service uses Batched.
// Its leases have no fence.
func New(rdb redis.UniversalClient) *Locker {
	l := &Locker{rdb: rdb, set: rdb, publish: "publish"}
	_, cluster := rdb.(*redis.ClusterClient)
	if cluster {
		l.publish = "spublish" // stays on the key's own node
	}
	l.messages = redisdriver.NewSubscriber(rdb, func(context.Context) (bool, error) { return cluster, nil })
	return l
}

// Fenced returns a locker whose leases have a fence: the server's time in
// microseconds, or the key's last fence plus one if that is larger. Fences
// increase even after a loss of data, unless the server's clock steps back
// meanwhile. The last fence is stored in FenceKey(key) for a day.
//
// Fenced and other lockers of the same key exclude each other.
func Fenced(rdb redis.UniversalClient) *Locker {
	l := New(rdb)
	l.fenced = true
	return l
}

// TryLock implements lock.Locker.
func (l *Locker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	lease := &lease{locker: l, key: key, token: redisdriver.CountedString{Text: rand.Text()}}
	start := time.Now()
	lease.expiry.Begin(start.Add(ttl))
	err := l.request(ctx, lease, ttl)
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

// request sends the one command that acquires the key for lease.
func (l *Locker) request(ctx context.Context, lease *lease, ttl time.Duration) error {
	switch {
	case l.fenced:
		return l.requestFenced(ctx, lease, ttl)
	case l.batchers != nil:
		return l.batchers.forKey(ctx, lease.key).acquire(ctx, lease, ttl)
	case l.set == l.rdb && lock.AsksForTimeLeft(ctx): // SET does not tell it
		b := batcher{rdb: l.rdb, publish: l.publish, size: 1}
		return b.acquire(ctx, lease, ttl)
	}
	holder, err := l.set.Do(ctx, "set", lease.key, &lease.token, "nx", "get", "px", driver.Milliseconds(ttl)).Text()
	switch {
	case errors.Is(err, redis.Nil): // there was no holder
		return nil
	case err != nil:
		return err
	case holder == lease.token.Text: // a retry after the first reply was lost
		return nil
	}
	return l.locked(ctx, lease.key)
}

// locked returns ErrLocked, for a waiter with the time that the key has left.
func (l *Locker) locked(ctx context.Context, key string) error {
	if !lock.AsksForTimeLeft(ctx) {
		return lock.ErrLocked
	}
	return lock.Locked(l.rdb.PTTL(ctx, key).Val()) // negative without an expiry, 0 without a reply
}

func (l *Locker) requestFenced(ctx context.Context, lease *lease, ttl time.Duration) error {
	call := &redisdriver.ScriptCall{
		Keys: []string{lease.key, FenceKey(lease.key)},
		Args: []any{&lease.token, driver.Milliseconds(ttl), fenceMemory.Milliseconds()},
	}
	redisdriver.Call(ctx, l.rdb, acquireScript, call)
	fence, err := redisdriver.Integer(call.Reply)
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
