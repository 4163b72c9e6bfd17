package lab_test

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestDisconnectedHostIsSilent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("network namespaces need Linux and root")
	}
	network, err := lab.StartNetwork(labtest.Lab(t))
	check.NoError(t, err)
	host, err := network.Host()
	check.NoError(t, err)
	rdb := redis.NewClient(&redis.Options{Addr: host.Address + ":6379", MaxRetries: -1,
		DialTimeout: 300 * time.Millisecond, ReadTimeout: 300 * time.Millisecond})
	t.Cleanup(func() { _ = rdb.Close() })
	path, err := lab.LookPath("redis-server", "valkey-server")
	check.NoError(t, err)
	server, err := labtest.Lab(t).Start(host.On(lab.Program{
		Name: "redis", Path: path, Args: []string{"--bind", host.Address, "--protected-mode", "no", "--save", ""},
		Dir:   t.TempDir(),
		Ready: func(ctx context.Context) error { return rdb.Ping(ctx).Err() },
	}))
	check.NoError(t, err)
	t.Cleanup(server.Kill)
	check.NoError(t, host.Disconnect())
	err = rdb.Ping(t.Context()).Err()
	if silent, ok := errors.AsType[net.Error](err); !ok || !silent.Timeout() {
		t.Errorf("a disconnected host: %v, want a timeout", err)
	}
	check.NoError(t, host.Connect())
	check.Eventually(t, "the host replies again", func() bool { return rdb.Ping(t.Context()).Err() == nil })
}
