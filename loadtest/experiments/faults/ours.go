package faults

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/loadtest/holder"
)

// conns is how many connections a holder has at most.
const conns = 4

// holders opens the lock of a holder that is no driver of this repository, by its name.
var holders = map[string]func(ctx context.Context) (holder.Lock, error){
	"setnx-no-owner":   patient(func(rdb redis.UniversalClient) holder.Lock { return withoutOwner{rdb} }),
	"lease-from-reply": patient(func(rdb redis.UniversalClient) holder.Lock { return leaseFromReply{rdb} }),
}

// Holder is the holder that HOLDER names. The experiment starts it.
func Holder(ctx context.Context) error {
	name := os.Getenv("HOLDER")
	open, ok := holders[name]
	if !ok {
		open = func(ctx context.Context) (holder.Lock, error) { return openDriver(ctx, name) }
	}
	l, err := open(ctx)
	if err != nil {
		return err
	}
	if waiters, err := strconv.Atoi(os.Getenv("WAITERS")); err == nil {
		l = holder.Waiters(l, waiters)
	}
	return holder.Serve(ctx, os.Stdin, os.Stdout, l)
}

// openDriver opens a driver on the servers that the environment names, as docs/locks.md
// says.
func openDriver(ctx context.Context, name string) (holder.Lock, error) {
	l, err := openLocker(ctx, name)
	if err != nil {
		return nil, err
	}
	return holder.FromClient(lock.New(l)), nil
}

func openLocker(ctx context.Context, name string) (lock.Locker, error) {
	lease, err := time.ParseDuration(os.Getenv("LEASE") + "ms")
	if err != nil {
		return nil, fmt.Errorf("LEASE: %w", err)
	}
	s := drivers.Servers{
		MySQL: fmt.Sprintf("root@tcp(%s)/locks", os.Getenv("MYSQL_ADDR")), ZooKeeper: servers("ZOOKEEPER_ADDRS"),
		Etcd: servers("ETCD_ADDRS"), Memcached: servers("MEMCACHED_ADDR"), Conns: conns, Session: lease,
	}
	for _, address := range servers("REDIS_ADDRS") {
		rdb, err := connect.Redis("redis://"+address, conns)
		if err != nil {
			return nil, err
		}
		s.Redis = append(s.Redis, rdb)
	}
	l, err := drivers.Open(ctx, name, s)
	return l.Locker, err
}

// servers returns the addresses in the variable name.
func servers(name string) []string { return strings.Split(os.Getenv(name), ",") }

// patient opens a control on the first Redis, with a client that waits for a reply
// for longer than any lease.
func patient(open func(redis.UniversalClient) holder.Lock) func(context.Context) (holder.Lock, error) {
	return func(context.Context) (holder.Lock, error) {
		return open(redis.NewClient(&redis.Options{
			Addr: servers("REDIS_ADDRS")[0], ReadTimeout: time.Minute, MaxRetries: -1,
		})), nil
	}
}
