package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A sentinelNode is one running sentinel.
type sentinelNode struct {
	*Server
	address string // host:port
}

func startSentinelTopology(l *Lab) (*Topology, error) {
	t, err := startReplicas(l)
	if err != nil {
		return nil, err
	}
	var addrs []string
	for range 3 {
		s, err := startSentinel(l, t.Nodes[0].Address)
		if err != nil {
			return nil, err
		}
		t.Sentinels, addrs = append(t.Sentinels, s.Server), append(addrs, s.address)
	}
	t.URL = "redis+sentinel://" + addrs[0] + "/0?master_name=main&addr=" + strings.Join(addrs[1:], "&addr=")
	return t, eventually(func(ctx context.Context) error { return expectSentinels(ctx, addrs) })
}

// expectSentinels checks that every sentinel knows the replicas and the other
// sentinels.
func expectSentinels(ctx context.Context, addrs []string) error {
	var errs []error
	for _, address := range addrs {
		r := Redis{URL: "redis://" + address}
		errs = append(errs, r.withClient(func(rdb *redis.Client) error {
			return expect(rdb.Info(ctx, "sentinel"), "status=ok", "slaves=3", "sentinels=3")
		}))
	}
	return errors.Join(errs...)
}

// startSentinel starts a sentinel that considers master down after half a
// second without a reply.
func startSentinel(l *Lab, master string) (*sentinelNode, error) {
	path, err := l.path(RedisServer)
	if err != nil {
		return nil, err
	}
	return WithFreePort(func(port int) (*sentinelNode, error) { return startSentinelOnPort(l, path, port, master) })
}

func startSentinelOnPort(l *Lab, path string, port int, master string) (*sentinelNode, error) {
	dir, err := l.Dir("sentinel")
	if err != nil {
		return nil, err
	}
	conf, err := writeSentinelConfig(dir, port, master)
	if err != nil {
		return nil, err
	}
	s := &sentinelNode{address: fmt.Sprintf("127.0.0.1:%d", port)}
	s.Server, err = l.Start(Program{
		Name: "sentinel", Path: path, Args: []string{conf, "--sentinel"}, Dir: dir,
		Ready: func(ctx context.Context) error { return pingRedis(ctx, "redis://"+s.address) },
	})
	return s, err
}

// writeSentinelConfig writes a file, because a sentinel stores its state in its
// configuration file.
func writeSentinelConfig(dir string, port int, master string) (path string, err error) {
	host, masterPort, err := net.SplitHostPort(master)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "sentinel.conf")
	conf := fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\nsentinel monitor main %s %s 2\n"+
		"sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n", port, dir,
		host, masterPort)
	return path, os.WriteFile(path, []byte(conf), 0o644)
}
