package main

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
)

const (
	ttl = 30 * time.Second
	// conns is the service's default pool size. rueidis sends everything over one connection.
	conns = 32
)

type (
	release func() error
	// acquire acquires a lock as soon as it is free.
	acquire func(ctx context.Context, key string) (release, error)
)

// A way is one library, used as its documentation says, or one way to wait with ours.
type way struct {
	name string
	// open opens a client with connections of its own, as a process has.
	open func(tb testing.TB) acquire
	// leaves says that it returns lock.ErrLocked, and comes again later.
	leaves bool
}

var libraries = []way{
	{name: "redislock", open: notification},
	{name: "bsm", open: bsmRedislock}, {name: "redsync", open: redsyncLock}, {name: "rueidislock", open: rueidisLock},
}

var waiters = []way{
	{name: "spin", open: spin},
	// hides notifications
	{name: "poll", open: func(tb testing.TB) acquire { return wait(struct{ lock.Locker }{redislock.New(own(tb))}) }},
	{name: "notification", open: notification},
	{name: "give-up", open: func(tb testing.TB) acquire { return once(redislock.New(own(tb))) }, leaves: true},
}

// own returns the service's client.
func own(tb testing.TB) redis.UniversalClient {
	tb.Helper()
	rdb, err := connect.Redis(server.URL, conns)
	check.NoError(tb, err)
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func notification(tb testing.TB) acquire { return wait(redislock.New(own(tb))) }

// wait waits as lock.Client does: for a notification where l sends some, otherwise with pauses that
// grow up to 200 ms.
func wait(l lock.Locker) acquire {
	client := lock.New(l)
	return func(ctx context.Context, key string) (release, error) {
		held, err := client.Acquire(ctx, key, lock.Options{TTL: ttl, Wait: -1, NoRenewal: true})
		if err != nil {
			return nil, err
		}
		return func() error { return held.Release(context.WithoutCancel(ctx)) }, nil
	}
}

// once requests the lock once.
func once(l lock.Locker) acquire {
	return func(ctx context.Context, key string) (release, error) {
		lease, err := l.TryLock(ctx, key, ttl)
		if err != nil {
			return nil, err
		}
		return func() error { return lease.Release(context.WithoutCancel(ctx)) }, nil
	}
}

// spin requests the lock again at once until it has it.
func spin(tb testing.TB) acquire {
	request := once(redislock.New(own(tb)))
	return func(ctx context.Context, key string) (release, error) {
		for {
			if r, err := request(ctx, key); !errors.Is(err, lock.ErrLocked) {
				return r, err
			}
		}
	}
}

func bsmRedislock(tb testing.TB) acquire {
	l := bsm.New(plain(tb))
	return func(ctx context.Context, key string) (release, error) {
		obtained, err := l.Obtain(ctx, key, ttl, &bsm.Options{RetryStrategy: bsm.LinearBackoff(10 * time.Millisecond)})
		if err != nil {
			return nil, err
		}
		return func() error { return obtained.Release(context.WithoutCancel(ctx)) }, nil
	}
}

func redsyncLock(tb testing.TB) acquire {
	l := redsync.New(goredis.NewPool(plain(tb)))
	return func(ctx context.Context, key string) (release, error) {
		m := l.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(math.MaxInt))
		if err := m.LockContext(ctx); err != nil {
			return nil, err
		}
		return func() error {
			_, err := m.UnlockContext(context.WithoutCancel(ctx))
			return err
		}, nil
	}
}

// plain returns a client without options, with as many connections as the service's.
func plain(tb testing.TB) *redis.Client {
	tb.Helper()
	opts, err := redis.ParseURL(server.URL)
	check.NoError(tb, err)
	opts.PoolSize = conns
	rdb := redis.NewClient(opts)
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// rueidisLock locks one key. Its default, two keys of three, has no advantage on a single server.
func rueidisLock(tb testing.TB) acquire {
	path, _, _ := strings.Cut(strings.TrimPrefix(server.URL, "unix://"), "?")
	dialUnix := func(ctx context.Context, path string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		return d.DialContext(ctx, "unix", path)
	}
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{path}, DialCtxFn: dialUnix},
		KeyMajority:    1,
		KeyValidity:    ttl,
		ExtendInterval: ttl / 3,
		NoLoopTracking: true,
		TryNextAfter:   time.Second, // the default of 20 ms is too short for a busy machine
	})
	check.NoError(tb, err)
	tb.Cleanup(l.Close)
	return func(ctx context.Context, key string) (release, error) {
		_, unlock, err := l.WithContext(ctx, key)
		return func() error { unlock(); return nil }, err
	}
}
