package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func startSentinelTopology(l *Lab) (*Topology, error) {
	t, err := startReplicas(l)
	if err != nil {
		return nil, err
	}
	t.Sentinels, err = startEach(3, func(int) (*Server, error) { return startSentinel(l, t.Nodes[0].Address) })
	if err != nil {
		return nil, err
	}
	var addrs []string
	for _, s := range t.Sentinels {
		addrs = append(addrs, s.Address)
	}
	t.URL = "redis+sentinel://" + addrs[0] + "/0?master_name=main&addr=" + strings.Join(addrs[1:], "&addr=")
	return t, eventually(func(ctx context.Context) error { return expectSentinels(ctx, addrs) })
}

// expectSentinels checks that every sentinel knows the replicas and the other
// sentinels.
func expectSentinels(ctx context.Context, addrs []string) error {
	var errs []error
	for _, address := range addrs {
		errs = append(errs, expect(ctx, "redis://"+address, "INFO sentinel", "status=ok", "slaves=3", "sentinels=3"))
	}
	return errors.Join(errs...)
}

// startSentinel starts a sentinel that considers master down after half a
// second without a reply.
func startSentinel(l *Lab, master string) (*Server, error) {
	return l.serveTCP(RedisServer, "sentinel", func(dir, address string) (Program, error) {
		conf, err := writeSentinelConfig(dir, address, master)
		return Program{
			Args:  []string{conf, "--sentinel"},
			Ready: func(ctx context.Context) error { return doRedis(ctx, "redis://"+address, "PING").Err() },
		}, err
	})
}

// writeSentinelConfig writes a file, because a sentinel stores its state in its
// configuration file.
func writeSentinelConfig(dir, address, master string) (path string, err error) {
	path = filepath.Join(dir, "sentinel.conf")
	host, port, _ := strings.Cut(address, ":")
	conf := fmt.Sprintf("bind %s\nport %s\ndir %s\nsentinel monitor main %s 2\n"+
		"sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n", host, port, dir,
		strings.Replace(master, ":", " ", 1))
	return path, os.WriteFile(path, []byte(conf), 0o644)
}
