package etcdlock

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.com/flashsale/internal/lab/labtest"
)

// A put that is repeated because its reply was lost finds the key that the
// first attempt created.
func TestPutSucceedsAfterALostReply(t *testing.T) {
	t.Parallel()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{labtest.SharedEtcd(t).Endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer cli.Close()
	held, err := New(cli).TryLock(t.Context(), labtest.Name(t), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	fence := held.Fence()
	for _, repeat := range []func(*lease, context.Context) error{(*lease).tryLock, (*lease).lock} {
		if err := repeat(held.(*lease), t.Context()); err != nil || held.Fence() != fence {
			t.Errorf("repeated put: %v, fence %d after %d", err, held.Fence(), fence)
		}
	}
}
