package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/redis/go-redis/v9"
)

// Redis is a running redis-server (or valkey-server).
type Redis struct {
	*Server
	// URL is what REDIS_URL takes.
	URL string
	// Address is its host:port, if it has one.
	Address string
}

// Redis starts a server on a Unix socket that keeps nothing on disk, with args
// added to its command line.
func (l *Lab) Redis(args ...string) (*Redis, error) {
	path, err := LookPath("redis-server", "valkey-server")
	if err != nil {
		return nil, err
	}
	dir, err := l.Dir("redis")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "s")
	url := "unix://" + socket
	s, err := l.Start(Program{
		Name: "redis", Path: path, Dir: dir,
		Args:  append([]string{"--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", dir}, args...),
		Ready: func(ctx context.Context) error { return pingRedis(ctx, url) },
	})
	return &Redis{Server: s, URL: url}, err
}

func pingRedis(ctx context.Context, url string) error {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	rdb := redis.NewClient(opts)
	defer rdb.Close()
	return rdb.Ping(ctx).Err()
}

// RedisTCP starts a server on a free loopback port, for clients that cannot
// use a Unix socket.
func (l *Lab) RedisTCP(args ...string) (*Redis, error) {
	return l.redisTCP(func() ([]string, error) { return args, nil })
}

// redisTCP asks for more anew with every port that it tries.
func (l *Lab) redisTCP(more func() ([]string, error)) (r *Redis, err error) {
	for range 5 { // another process may take the port first
		var args []string
		if args, err = more(); err != nil {
			return nil, err
		}
		if r, err = l.redisOnPort(args); err == nil {
			return r, nil
		}
	}
	return nil, err
}

func (l *Lab) redisOnPort(args []string) (*Redis, error) {
	path, err := LookPath("redis-server", "valkey-server")
	if err != nil {
		return nil, err
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	dir, err := l.Dir("redis")
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	url := "redis://" + address
	s, err := l.Start(Program{
		Name: "redis", Path: path, Dir: dir,
		Args:  append([]string{"--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--save", "", "--appendonly", "no", "--dir", dir}, args...),
		Ready: func(ctx context.Context) error { return pingRedis(ctx, url) },
	})
	return &Redis{Server: s, URL: url, Address: address}, err
}

// Root reports whether servers must be told that they may run as root.
func Root() bool { return os.Geteuid() == 0 }
