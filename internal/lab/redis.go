package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/redis/go-redis/v9"
)

// Redis is a running redis-server or valkey-server.
type Redis struct {
	*Server
	// URL is the value of REDIS_URL.
	URL string
	// Address is the host:port, or empty on a Unix socket.
	Address string
}

// StartRedis starts a server on a Unix socket, with args added to its command line.
// The server does not persist its data unless args enable it.
func StartRedis(l *Lab, args ...string) (*Redis, error) {
	dir, err := l.Dir("redis")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "s")
	args = append([]string{"--port", "0", "--unixsocket", socket}, args...)
	r := &Redis{URL: "unix://" + socket}
	return r.start(l, dir, args, nil)
}

// StartRedisTCP starts a server on a free loopback port, for clients that cannot
// use a Unix socket.
func StartRedisTCP(l *Lab, args ...string) (*Redis, error) {
	return WithFreePort(func(port int) (*Redis, error) { return startRedisOnPort(l, port, args) })
}

func startRedisOnPort(l *Lab, port int, args []string, env ...string) (*Redis, error) {
	dir, err := l.Dir("redis")
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	args = append([]string{"--bind", "127.0.0.1", "--port", fmt.Sprint(port)}, args...)
	r := &Redis{URL: "redis://" + address, Address: address}
	return r.start(l, dir, args, env)
}

// start starts the server of r in dir and sets r.Server.
func (r *Redis) start(l *Lab, dir string, args, env []string) (*Redis, error) {
	path, err := l.path(RedisServer)
	if err != nil {
		return nil, err
	}
	p := Program{
		Name: "redis", Path: path, Dir: dir,
		Args: append([]string{"--save", "", "--appendonly", "no", "--dir", dir}, args...),
		Env:  env,
	}
	p.Ready = func(ctx context.Context) error { return redisReady(ctx, p.log(), r.URL) }
	r.Server, err = l.Start(p)
	return r, err
}

// redisReady also asks the server's own log: another server that took the port
// first would reply to the PING.
func redisReady(ctx context.Context, log, url string) error {
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	// Redis 7 begins another sentence with these words if it has a Unix socket only.
	if !bytes.Contains(bytes.ToLower(text), []byte("ready to accept connections")) {
		return errors.New("the server does not listen yet")
	}
	return pingRedis(ctx, url)
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
