package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strings"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
)

// A locker is one library, used as its documentation says.
type locker struct {
	// try acquires a free lock.
	try func(ctx context.Context, key string) (unlock func() error, err error)
	// wait acquires a lock as soon as it is free.
	wait func(ctx context.Context, key string) (unlock func() error, err error)
	// calls are the commands that the library sends, as INFO counts them,
	// without the commands inside its scripts.
	calls []string
}

const (
	ttl = 30 * time.Second
	// conns is the service's default pool size. rueidis sends everything over
	// one connection.
	conns = 32
)

var lockers = map[string]func(url string) (locker, error){
	"raw":               raw,
	"redislock":         own,
	"redislock batched": ownBatched,
	"bsm redislock":     bsmRedislock,
	"redsync":           redsyncLock,
	"rueidislock":       rueidisLock,
	"etcdlock":          ownEtcd,
	"etcd mutex":        etcdMutex,
}

func open(name string) (locker, error) {
	library := lockers[name]
	if library == nil {
		return locker{}, fmt.Errorf("no lock %q", name)
	}
	return library(os.Getenv("REDIS_URL"))
}

// own is the driver redislock. fromLocker adds the waiting.
func own(url string) (locker, error) {
	rdb, err := connect.Redis(url, conns)
	if err != nil {
		return locker{}, err
	}
	return fromLocker(redislock.New(rdb), "set", "evalsha"), nil
}

// ownBatched is the batched driver, as the service's claims use it.
func ownBatched(url string) (locker, error) {
	rdb, err := connect.Redis(url, conns)
	if err != nil {
		return locker{}, err
	}
	return fromLocker(redislock.Batched(rdb), "evalsha"), nil
}

// fromLocker waits with a lock.Client, as the service does.
func fromLocker(l lock.Locker, calls ...string) locker {
	client := lock.New(l)
	return locker{
		try: func(ctx context.Context, key string) (func() error, error) {
			lease, err := l.TryLock(ctx, key, ttl)
			if err != nil {
				return nil, err
			}
			return func() error { return lease.Release(context.WithoutCancel(ctx)) }, nil
		},
		wait: func(ctx context.Context, key string) (func() error, error) {
			acquired, err := client.Acquire(ctx, key, lock.Options{TTL: leaseTTL, Wait: -1})
			if err != nil {
				return nil, err
			}
			return func() error { return acquired.Release(context.WithoutCancel(ctx)) }, nil
		},
		calls: append(calls, "subscribe", "unsubscribe"),
	}
}

//go:embed unlock.lua
var unlockLua string

// raw is SET NX and compare-and-delete on the same client: the least that a lock
// with an owner can do.
func raw(url string) (locker, error) {
	rdb, err := connect.Redis(url, conns)
	if err != nil {
		return locker{}, err
	}
	unlock := redis.NewScript(unlockLua)
	return locker{try: func(ctx context.Context, key string) (func() error, error) {
		owner := rand.Text()
		switch locked, err := rdb.SetNX(ctx, key, owner, ttl).Result(); {
		case err != nil:
			return nil, err
		case !locked:
			return nil, errors.New("already locked")
		}
		return func() error { return unlock.Run(ctx, rdb, []string{key}, owner).Err() }, nil
	}}, nil
}

func bsmRedislock(url string) (locker, error) {
	rdb, err := goRedis(url)
	if err != nil {
		return locker{}, err
	}
	l := bsm.New(rdb)
	obtain := func(o *bsm.Options) func(context.Context, string) (func() error, error) {
		return func(ctx context.Context, key string) (func() error, error) {
			obtained, err := l.Obtain(ctx, key, ttl, o)
			if err != nil {
				return nil, err
			}
			return func() error { return obtained.Release(context.WithoutCancel(ctx)) }, nil
		}
	}
	return locker{
		try:   obtain(nil),
		wait:  obtain(&bsm.Options{RetryStrategy: bsm.LinearBackoff(10 * time.Millisecond)}),
		calls: []string{"eval", "evalsha"},
	}, nil
}

func redsyncLock(url string) (locker, error) {
	rdb, err := goRedis(url)
	if err != nil {
		return locker{}, err
	}
	l := redsync.New(goredis.NewPool(rdb))
	acquire := func(tries int) func(context.Context, string) (func() error, error) {
		return func(ctx context.Context, key string) (func() error, error) {
			m := l.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(tries))
			if err := m.LockContext(ctx); err != nil {
				return nil, err
			}
			return func() error {
				_, err := m.UnlockContext(context.WithoutCancel(ctx))
				return err
			}, nil
		}
	}
	return locker{try: acquire(1), wait: acquire(math.MaxInt), calls: []string{"set", "eval", "evalsha"}}, nil
}

// goRedis returns a plain client with as many connections as the service's.
func goRedis(url string) (*redis.Client, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	opts.PoolSize = conns
	return redis.NewClient(opts), nil
}

// rueidisLock locks one key. Its default, two keys of three, has no advantage on
// a single server.
func rueidisLock(url string) (locker, error) {
	path, db, _ := strings.Cut(strings.TrimPrefix(url, "unix://"), "?db=")
	n := 0
	if _, err := fmt.Sscan(db, &n); db != "" && err != nil {
		return locker{}, err
	}
	dialUnix := func(ctx context.Context, path string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		return d.DialContext(ctx, "unix", path)
	}
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{path}, DialCtxFn: dialUnix, SelectDB: n},
		KeyMajority:    1,
		KeyValidity:    leaseTTL,
		ExtendInterval: leaseTTL / 3,
		NoLoopTracking: true,
		TryNextAfter:   time.Second, // the default of 20 ms is too short for a busy machine
	})
	if err != nil {
		return locker{}, err
	}
	acquire := func(lockContext func(context.Context, string) (context.Context, context.CancelFunc,
		error)) func(context.Context, string) (func() error, error) {
		return func(ctx context.Context, key string) (func() error, error) {
			_, cancel, err := lockContext(ctx, key)
			if err != nil {
				return nil, err
			}
			return func() error { cancel(); return nil }, nil
		}
	}
	return locker{try: acquire(l.TryWithContext), wait: acquire(l.WithContext), calls: []string{"eval", "evalsha"}},
		nil
}
