// Package redislock is a lock on one string key of Redis 7 or later: the value
// is a random token of the lease, the key's expiry is its end.
//
// It is as safe as the Redis behind it: a failover to a replica that has not
// yet seen the key, or a restart without it, frees the lock under its holder.
// Guard what must not happen twice with a fence or in the database.
package redislock

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
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

const (
	// cleanup bounds the attempt to let go of what an unknown outcome may
	// have left.
	cleanup = 500 * time.Millisecond
	// memory is how long a fence outlives its last holder. After that the
	// server's clock alone keeps the next one higher.
	memory = 24 * time.Hour
)

// A Locker takes keys as they are given. It owns no resource but, while
// somebody waits, one pub/sub connection (in a cluster: one per node).
type Locker struct {
	rdb     redis.UniversalClient
	send    sender
	rounds  *rounds // of Batched; otherwise each question goes out by itself
	fenced  bool
	publish string // the command that wakes waiters
	batch   int    // how many leases one script extends
	hub     hub
}

// New returns a locker whose TryLock costs one plain SET. Its leases have no
// fence.
func New(rdb redis.UniversalClient) *Locker {
	l := &Locker{rdb: rdb, send: rdb, publish: "publish", batch: 100}
	if _, ok := rdb.(*redis.ClusterClient); ok {
		l.publish = "spublish" // stays on the key's own shard
		l.batch = 1            // a script must not leave its slot
	}
	return l
}

// A sender is how commands reach Redis: every client is one.
type sender interface {
	redis.Scripter
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// Fenced returns a locker whose leases carry a fence: the server's time in
// microseconds, or one more than the key's last fence if that is higher. So it
// rises after a loss of data too, as long as the server's clock does not step
// back meanwhile, and the last fence is remembered for a day only.
//
// The fence is kept in FenceKey(key). Fenced and unfenced lockers exclude each
// other.
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
	lease := &lease{locker: l, key: key, token: rand.Text(), valid: time.Now().Add(ttl)}
	err := l.ask(ctx, lease, ttl)
	if err == nil {
		return lease, nil
	}
	if errors.Is(err, lock.ErrLocked) {
		return nil, lock.ErrLocked
	}
	lease.abandon(ctx)
	return nil, fmt.Errorf("redislock: take %s: %w", key, err)
}

// ask sends the one command that may make lease the holder of its key.
func (l *Locker) ask(ctx context.Context, lease *lease, ttl time.Duration) error {
	switch {
	case l.fenced:
		return l.askFenced(ctx, lease, ttl)
	case l.rounds != nil:
		return l.askInRound(ctx, lease, ttl)
	}
	holder, err := l.send.Do(ctx, "set", lease.key, lease.token, "nx", "get", "px", ttl.Milliseconds()).Text()
	switch {
	case errors.Is(err, redis.Nil): // there was no holder
		return nil
	case err != nil:
		return err
	case holder == lease.token: // a retry, after the first reply was lost
		return nil
	}
	return lock.ErrLocked
}

func (l *Locker) askInRound(ctx context.Context, lease *lease, ttl time.Duration) error {
	ours, err := l.rounds.take(ctx, lease.key, lease.token, ttl)
	if err == nil && !ours {
		return lock.ErrLocked
	}
	return err
}

func (l *Locker) askFenced(ctx context.Context, lease *lease, ttl time.Duration) error {
	fence, err := acquireScript.Run(ctx, l.send, []string{lease.key, FenceKey(lease.key)},
		lease.token, ttl.Milliseconds(), memory.Milliseconds()).Uint64()
	if err == nil && fence == 0 {
		return lock.ErrLocked
	}
	lease.fence = fence
	return err
}

// FenceKey names the key beside key, in the same slot of a cluster, that holds
// its last fence. (A key with a brace but no hash tag has no such neighbour;
// fenced locks on it fail in a cluster.)
func FenceKey(key string) string {
	_, tag, ok := strings.Cut(key, "{")
	if ok && strings.IndexByte(tag, '}') > 0 {
		return key + ":fence"
	}
	return "{" + key + "}:fence"
}
