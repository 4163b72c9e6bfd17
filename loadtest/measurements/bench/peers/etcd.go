package main

import (
	"context"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"example.com/flashsale/internal/lock/etcdlock"
)

func dialEtcd() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints: []string{os.Getenv("ETCD_ADDR")}, DialTimeout: 2 * time.Second, Logger: zap.NewNop(),
	})
}

// ownEtcd is the driver etcdlock. fromLocker adds the waiting.
func ownEtcd(string) (locker, error) {
	cli, err := dialEtcd()
	if err != nil {
		return locker{}, err
	}
	return fromLocker(etcdlock.New(cli)), nil
}

// etcdMutex is etcd's own mutex. Two holders of one session would exclude only
// other sessions, so each holder and each waiter has a session of its own,
// which is used again afterwards.
func etcdMutex(string) (locker, error) {
	cli, err := dialEtcd()
	if err != nil {
		return locker{}, err
	}
	s := sessions{cli, make(chan *concurrency.Session, maxSessions)}
	return locker{
		try: func(ctx context.Context, key string) (func() error, error) {
			return s.acquire(ctx, key, (*concurrency.Mutex).TryLock)
		},
		wait: func(ctx context.Context, key string) (func() error, error) {
			return s.acquire(ctx, key, (*concurrency.Mutex).Lock)
		},
	}, nil
}

// sessions are the sessions of one client that no holder and no waiter uses.
type sessions struct {
	cli  *clientv3.Client
	idle chan *concurrency.Session
}

// maxSessions is more than there are goroutines.
const maxSessions = 1024

// acquire locks the mutex of key by lock.
func (s sessions) acquire(ctx context.Context, key string,
	lock func(*concurrency.Mutex, context.Context) error) (unlock func() error, err error) {
	session, err := s.take()
	if err != nil {
		return nil, err
	}
	m := concurrency.NewMutex(session, key)
	if err := lock(m, ctx); err != nil {
		return nil, err
	}
	return func() error {
		defer func() { s.idle <- session }()
		return m.Unlock(context.WithoutCancel(ctx))
	}, nil
}

func (s sessions) take() (*concurrency.Session, error) {
	select {
	case session := <-s.idle:
		return session, nil
	default:
		return concurrency.NewSession(s.cli, concurrency.WithTTL(int(ttl.Seconds())))
	}
}
