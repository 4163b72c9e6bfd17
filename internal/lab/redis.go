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

// Redis is a running redis-server or valkey-server. Its address is empty on a Unix socket.
type Redis struct {
	*Server
	// URL is the value of REDIS_URL.
	URL string

	port, bus int // of a node of a cluster
}

// StartRedis starts a server on a Unix socket, with args added to its command line.
// The server does not persist its data unless args enable it.
func StartRedis(l *Lab, args ...string) (*Redis, error) {
	r := &Redis{}
	var err error
	r.Server, err = l.serve(RedisServer, "redis", func(dir string) (Program, error) {
		socket := filepath.Join(dir, "s")
		r.URL = "unix://" + socket
		return redisProgram(dir, r.URL, append([]string{"--port", "0", "--unixsocket", socket}, args...)), nil
	})
	return r, err
}

// StartRedisTCP starts a server on a free loopback port, for clients that cannot
// use a Unix socket.
func StartRedisTCP(l *Lab, args ...string) (*Redis, error) {
	return WithFreePort(func(port int) (*Redis, error) { return startRedisOnPort(l, port, args) })
}

func startRedisOnPort(l *Lab, port int, args []string, env ...string) (*Redis, error) {
	address := fmt.Sprintf("127.0.0.1:%d", port)
	r := &Redis{URL: "redis://" + address}
	var err error
	r.Server, err = l.serve(RedisServer, "redis", func(dir string) (Program, error) {
		p := redisProgram(dir, r.URL, append([]string{"--bind", "127.0.0.1", "--port", fmt.Sprint(port)}, args...))
		p.Address, p.Env = address, env
		return p, nil
	})
	return r, err
}

func redisProgram(dir, url string, args []string) Program {
	log := Program{Name: "redis", Dir: dir}.log()
	return Program{
		Args:  append([]string{"--save", "", "--appendonly", "no", "--dir", dir}, args...),
		Ready: func(ctx context.Context) error { return redisReady(ctx, log, url) },
	}
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
	return doRedis(ctx, url, "PING").Err()
}

// doRedis sends a command to the server at url, once.
func doRedis(ctx context.Context, url string, args ...any) *redis.Cmd {
	opts, _ := redis.ParseURL(url) // the lab has made it
	opts.MaxRetries = -1
	rdb := redis.NewClient(opts)
	defer rdb.Close()
	return rdb.Do(ctx, args...)
}
