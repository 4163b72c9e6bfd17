package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/loadtest/holder"
)

// retryPause is how long a lock without a notification waits before it asks again.
const retryPause = 50 * time.Millisecond

// holders are the libraries as holders for make faults, each used as its own
// documentation says and with its own defaults.
var holders = map[string]func() (holder.Acquire, error){
	"bsm":         bsmHolder,
	"redsync":     redsyncHolder,
	"rueidislock": func() (holder.Acquire, error) { return rueidisHolder{}.acquire, nil },
	"etcd-mutex":  etcdHolder,
	"zookeeper":   func() (holder.Acquire, error) { return zookeeperHolder, nil },
}

// serveHolder is the holder that HOLDER names.
func serveHolder(ctx context.Context) error {
	open, ok := holders[os.Getenv("HOLDER")]
	if !ok {
		return fmt.Errorf("HOLDER: no holder %q", os.Getenv("HOLDER"))
	}
	take, err := open()
	if err != nil {
		return err
	}
	return holder.Serve(ctx, os.Stdin, os.Stdout, take)
}

// redisClients opens a plain client of each server.
func redisClients() (clients []*redis.Client) {
	for address := range strings.SplitSeq(os.Getenv("REDIS_ADDRS"), ",") {
		clients = append(clients, redis.NewClient(&redis.Options{Addr: address}))
	}
	return clients
}

func bsmHolder() (holder.Acquire, error) {
	l := bsm.New(redisClients()[0])
	return func(ctx context.Context, key string, lease, wait time.Duration) (holder.Held, error) {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		obtained, err := l.Obtain(ctx, key, lease, &bsm.Options{RetryStrategy: bsm.LinearBackoff(retryPause)})
		if err != nil {
			return nil, refusedIf(err, errors.Is(err, bsm.ErrNotObtained))
		}
		extend := func() (lost bool) {
			return errors.Is(obtained.Refresh(context.Background(), lease, nil), bsm.ErrNotObtained)
		}
		return extendAlways(lease, extend, func(ctx context.Context) error {
			err := obtained.Release(ctx)
			return lostIf(err, errors.Is(err, bsm.ErrLockNotHeld))
		}), nil
	}, nil
}

func redsyncHolder() (holder.Acquire, error) {
	var pools []redsyncredis.Pool
	for _, rdb := range redisClients() {
		pools = append(pools, goredis.NewPool(rdb))
	}
	l := redsync.New(pools...)
	return func(ctx context.Context, key string, lease, wait time.Duration) (holder.Held, error) {
		m := l.NewMutex(key, redsync.WithExpiry(lease), redsync.WithTries(int(wait/retryPause)+1),
			redsync.WithRetryDelay(retryPause))
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if err := m.LockContext(waiting); err != nil {
			return nil, refusedIf(err, isTaken(err) || waiting.Err() != nil)
		}
		extend := func() (lost bool) {
			_, err := m.ExtendContext(context.Background())
			return isTaken(err) || errors.Is(err, redsync.ErrExtendFailed)
		}
		return extendAlways(lease, extend, func(ctx context.Context) error {
			ok, err := m.UnlockContext(ctx)
			lost := err == nil || isTaken(err) || errors.Is(err, redsync.ErrLockAlreadyExpired)
			return lostIf(err, !ok && lost)
		}), nil
	}, nil
}

func isTaken(err error) bool {
	var taken *redsync.ErrTaken
	return errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed)
}

// refusedIf returns lock.ErrLocked with err if refused is true, and err otherwise.
func refusedIf(err error, refused bool) error {
	if refused {
		return fmt.Errorf("%w: %w", lock.ErrLocked, err)
	}
	return err
}

// lostIf returns lock.ErrLost with err if lost is true, and err otherwise.
func lostIf(err error, lost bool) error {
	if lost {
		return errors.Join(lock.ErrLost, err)
	}
	return err
}

// extendAlways extends a lock every third of its lease, as libraries leave it to their
// users, until it is released or the library says that it is lost.
func extendAlways(lease time.Duration, extend func() (lost bool), release func(context.Context) error) watched {
	lost, released := make(chan struct{}), make(chan struct{})
	go func() {
		for {
			select {
			case <-released:
				return
			case <-time.After(lease / 3):
			}
			if extend() {
				close(lost)
				return
			}
		}
	}()
	return watched{lost, func(ctx context.Context) error {
		close(released)
		return release(ctx)
	}}
}

// watched is a lock that is held, of whose loss a channel tells.
type watched struct {
	lost    <-chan struct{}
	release func(context.Context) error
}

func (w watched) Fence() uint64                     { return 0 }
func (w watched) Done() <-chan struct{}             { return w.lost }
func (w watched) Release(ctx context.Context) error { return w.release(ctx) }

func (w watched) Err() error {
	select {
	case <-w.lost:
		return lock.ErrLost
	default:
		return nil
	}
}

// rueidisHolder has a locker for each length of a lease, because a locker has one.
type rueidisHolder map[time.Duration]rueidislock.Locker

func (r rueidisHolder) locker(lease time.Duration) (l rueidislock.Locker, err error) {
	if r[lease] == nil {
		r[lease], err = rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: rueidis.ClientOption{InitAddress: strings.Split(os.Getenv("REDIS_ADDRS"), ",")},
			KeyMajority:  1, KeyValidity: lease, NoLoopTracking: true,
		})
	}
	return r[lease], err
}

func (r rueidisHolder) acquire(ctx context.Context, key string, lease, wait time.Duration) (holder.Held, error) {
	l, err := r.locker(lease)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx) // the lock ends with it
	over := time.AfterFunc(wait, cancel)
	locked, unlock, err := l.WithContext(ctx, key)
	if err != nil {
		cancel()
		return nil, refusedIf(err, errors.Is(err, context.Canceled))
	}
	over.Stop()
	return watched{locked.Done(), func(context.Context) error {
		defer cancel()
		lost := locked.Err()
		unlock()
		return lostIf(lost, lost != nil)
	}}, nil
}

// etcdHolder takes each lock with a session of its own, whose lease is the lock's.
func etcdHolder() (holder.Acquire, error) {
	cli, err := clientv3.New(clientv3.Config{
		Endpoints: strings.Split(os.Getenv("ETCD_ADDRS"), ","), DialTimeout: 2 * time.Second, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, key string, lease, wait time.Duration) (holder.Held, error) {
		session, err := concurrency.NewSession(cli, concurrency.WithTTL(int(lease.Seconds())))
		if err != nil {
			return nil, err
		}
		m := concurrency.NewMutex(session, "/"+key)
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if err := m.Lock(waiting); err != nil {
			go session.Close()
			return nil, refusedIf(err, waiting.Err() != nil)
		}
		return watched{session.Done(), func(ctx context.Context) error {
			return errors.Join(m.Unlock(ctx), session.Close())
		}}, nil
	}, nil
}
