package faults

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/loadtest/holder"
)

// conns is how many connections a holder has at most.
const conns = 4

// Holder is the holder of the lock that HOLDER names: a control, or a driver. The experiment
// starts it.
func Holder(ctx context.Context) (err error) {
	var take holder.Acquire
	switch name := os.Getenv("HOLDER"); name {
	case "setnx-no-owner", "lease-from-reply":
		take = newSetNX(name == "lease-from-reply").acquire
	default:
		if take, err = openDriver(ctx, name); err != nil {
			return err
		}
	}
	if waiters, err := strconv.Atoi(os.Getenv("WAITERS")); err == nil {
		take = holder.Waiters(take, waiters)
	}
	return holder.Serve(ctx, os.Stdin, os.Stdout, take)
}

// openDriver opens a driver on the servers that the environment names, as docs/locks.md
// says.
func openDriver(ctx context.Context, name string) (holder.Acquire, error) {
	lease, err := time.ParseDuration(os.Getenv("LEASE") + "ms")
	if err != nil {
		return nil, fmt.Errorf("LEASE: %w", err)
	}
	s := drivers.Servers{
		MySQL: fmt.Sprintf("root@tcp(%s)/locks", os.Getenv(mysqlAddr)), ZooKeeper: servers(zookeeperAddrs),
		Etcd: servers(etcdAddrs), Memcached: servers(memcachedAddr), Conns: conns, Session: lease,
	}
	for _, address := range servers(redisAddrs) {
		rdb, err := connect.Redis("redis://"+address, conns)
		if err != nil {
			return nil, err
		}
		s.Redis = append(s.Redis, rdb)
	}
	l, err := drivers.Open(ctx, name, s)
	if err != nil {
		return nil, err
	}
	return holder.FromClient(lock.New(l.Locker)), nil
}

// servers returns the addresses in the variable name.
func servers(name string) []string { return strings.Split(os.Getenv(name), ",") }
