package redisson_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
)

// A hangingDetection hangs PUBSUB SHARDNUMSUB until its context ends.
type hangingDetection struct{ sent chan struct{} }

func (hangingDetection) DialHook(next redis.DialHook) redis.DialHook { return next }

func (hangingDetection) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h hangingDetection) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "pubsub" {
			return next(ctx, cmd)
		}
		h.sent <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
}

func TestDetectionOfShardedPubSubDelaysNoOtherCaller(t *testing.T) {
	t.Parallel()
	const timeout, late = 200 * time.Millisecond, 250 * time.Millisecond
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	t.Cleanup(func() { _ = rdb.Close() })
	hook := hangingDetection{make(chan struct{}, 2)}
	rdb.AddHook(hook)
	l := redisson.New(rdb).Lock()
	long, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	go func() { _, _ = l.TryLock(long, "k", longTTL) }()
	<-hook.sent
	short, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	start := time.Now()
	_, err := l.TryLock(short, "k", longTTL)
	if d := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || d > timeout+late {
		t.Errorf("TryLock with a timeout of %s returned %v after %s, want DeadlineExceeded within %s", timeout, err, d,
			timeout+late)
	}
}

// The reply WRONGPASS to the detection does not mean that the cluster has no
// sharded pub/sub.
func TestFailedDetectionOfShardedPubSubIsRepeated(t *testing.T) {
	t.Parallel()
	top, _ := startCluster(t)
	setPassword := func(password string) {
		t.Helper()
		for _, node := range top.Nodes {
			rules := []string{"reset", "on", ">" + password, "~*", "&*", "+@all"}
			check.NoError(t, labtest.Dial(t, node).ACLSetUser(t.Context(), "user", rules...).Err())
		}
	}
	setPassword("old")
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{top.Nodes[0].Address}, Username: "user",
		Password: "new"})
	t.Cleanup(func() { _ = rdb.Close() })
	l := redisson.New(rdb).Lock()
	_, err := l.TryLock(t.Context(), "k", longTTL)
	if _, errorReply := errors.AsType[redis.Error](err); !errorReply {
		t.Fatalf("TryLock with a wrong password: %v, want the server's reply", err)
	}
	setPassword("new")
	lease := locktest.MustTryLock(t, l, "k", longTTL)
	wake, _ := locktest.MustNotify(t, dialCluster(t, top).Lock(), "k")
	check.NoError(t, lease.Release(t.Context()))
	check.Receive(t, "after a release", wake)
}
