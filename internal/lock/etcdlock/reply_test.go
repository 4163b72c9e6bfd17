package etcdlock

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.com/flashsale/internal/lab/labtest"
)

// A put whose reply is lost is repeated, and finds the key that it made.
func TestLostReplyYieldsTheLease(t *testing.T) {
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
	for _, again := range []func(*lease, context.Context) error{(*lease).take, (*lease).queue} {
		if err := again(held.(*lease), t.Context()); err != nil || held.Fence() != fence {
			t.Errorf("repeated put: %v, fence %d after %d", err, held.Fence(), fence)
		}
	}
}
