package etcdlock_test

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/etcdlock"
	"example.com/flashsale/internal/lock/locktest"
)

func TestEnsemble(t *testing.T) {
	t.Parallel()
	ensemble := labtest.EtcdEnsemble(t)
	locktest.RunEnsemble(t, ensemble.Leader, time.Minute, func(t *testing.T, _ *lab.Member) lock.Locker {
		client, err := clientv3.New(clientv3.Config{ // notices a silent member
			Endpoints: ensemble.Addresses(), DialTimeout: 2 * time.Second, DialKeepAliveTime: time.Second,
			DialKeepAliveTimeout: time.Second, Logger: zap.NewNop(),
		})
		check.NoError(t, err)
		t.Cleanup(func() { _ = client.Close() })
		return etcdlock.New(client)
	})
}
