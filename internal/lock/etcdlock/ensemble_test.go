package etcdlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/etcdlock"
)

// The leader is partitioned, then the next one is killed, while a lock is held.
func TestLeaseOutlivesTheLeaderOfTheEnsemble(t *testing.T) {
	t.Parallel()
	ensemble := labtest.EtcdEnsemble(t)
	l, other := etcdlock.New(dialEnsemble(t, ensemble)), etcdlock.New(dialEnsemble(t, ensemble))
	for _, fault := range []struct {
		name string
		make func(*lab.Member) error
		heal func(*lab.Member) error
	}{
		{"Partitioned", func(m *lab.Member) error { return m.Host.Disconnect() }, (*lab.Member).Rejoin},
		{"Killed", func(m *lab.Member) error { m.Kill(); return nil }, nil},
	} {
		t.Run(fault.name, func(t *testing.T) {
			leader, err := ensemble.Leader()
			if err != nil {
				t.Fatal(err)
			}
			key := labtest.Name(t)
			held, err := l.TryLock(t.Context(), key, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if err := fault.make(leader); err != nil {
				t.Fatal(err)
			}
			awaitVerdict(t, "Extend", nil, func(ctx context.Context) error { return held.Extend(ctx, time.Minute) })
			awaitVerdict(t, "TryLock by another client", lock.ErrLocked, func(ctx context.Context) error {
				_, err := other.TryLock(ctx, key, time.Minute)
				return err
			})
			awaitVerdict(t, "Release", nil, held.Release)
			awaitVerdict(t, "TryLock after Release", nil, func(ctx context.Context) error {
				next, err := other.TryLock(ctx, key, time.Minute)
				if err == nil && next.Fence() <= held.Fence() {
					t.Errorf("fence %d after %d, want a higher one", next.Fence(), held.Fence())
				}
				return err
			})
			if fault.heal == nil {
				return
			}
			if err := fault.heal(leader); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// dialEnsemble returns a client that notices a silent member.
func dialEnsemble(t *testing.T, e *lab.Ensemble) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: e.Addresses(), DialTimeout: 2 * time.Second, DialKeepAliveTime: time.Second,
		DialKeepAliveTimeout: time.Second, Logger: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// awaitVerdict repeats op while its outcome is unknown, and expects the verdict.
func awaitVerdict(t *testing.T, what string, verdict error, op func(context.Context) error) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		err := op(ctx)
		cancel()
		switch {
		case errors.Is(err, verdict):
			return
		case err == nil || errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost):
			t.Fatalf("%s: %v, want %v", what, err, verdict)
		}
	}
}
