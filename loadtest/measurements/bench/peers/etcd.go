package main

import (
	"context"
	"os"
	"sync"
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
	s := &sessions{cli: cli}
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
	mu   sync.Mutex
	idle []*concurrency.Session
}

// acquire locks the mutex of key by lock.
func (s *sessions) acquire(ctx context.Context, key string,
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
		defer s.put(session)
		return m.Unlock(context.WithoutCancel(ctx))
	}, nil
}

func (s *sessions) take() (*concurrency.Session, error) {
	if idle := s.takeIdle(); idle != nil {
		return idle, nil
	}
	return concurrency.NewSession(s.cli, concurrency.WithTTL(int(ttl.Seconds())))
}

func (s *sessions) takeIdle() *concurrency.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.idle) - 1
	if last < 0 {
		return nil
	}
	idle := s.idle[last]
	s.idle = s.idle[:last]
	return idle
}

func (s *sessions) put(session *concurrency.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, session)
}
