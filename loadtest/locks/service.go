package main

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// A Service is two instances behind nginx, on a Redis of their own.
type Service struct {
	*rig.Sale
	*rig.Pair
	Redis *lab.Topology
	rdb   redis.UniversalClient
}

// start starts the service with its lock, on Redis of the given shape.
func start(ctx context.Context, s *rig.Stack, shape, driver string, settings ...string) (*Service, error) {
	api, err := binary("api")
	if err != nil {
		return nil, err
	}
	more, err := needs(s, driver)
	if err != nil {
		return nil, err
	}
	sv := &Service{}
	if sv.Redis, err = s.Topology(shape); err != nil {
		return nil, err
	}
	if sv.rdb, err = connect.Redis(sv.Redis.URL, 4); err != nil {
		return nil, err
	}
	settings = append(append([]string{
		"REDIS_URL=" + sv.Redis.URL, "LOCK=" + driver, "LAB=true", "LOCK_WAIT=60s", "LOCK_TTL=2s", "LOG_LEVEL=error",
	}, more...), settings...)
	if sv.Sale, err = s.Sale(ctx, settings...); err != nil {
		return nil, err
	}
	sv.Pair, err = sv.Sale.Pair(api)
	return sv, err
}

// Stop ends everything but what services share.
func (sv *Service) Stop() error {
	err := errors.Join(sv.Nginx.Stop(), sv.A.Stop(), sv.B.Stop(), sv.rdb.Close(), sv.DB.Close())
	sv.Redis.Kill()
	return err
}

// needs starts what a driver needs beside MySQL and Redis. It ends with the
// stack.
func needs(s *rig.Stack, driver string) ([]string, error) {
	switch driver {
	case "redlock":
		nodes, err := s.IndependentRedis(5)
		if err != nil {
			return nil, err
		}
		var urls []string
		for _, node := range nodes {
			urls = append(urls, node.URL)
		}
		return []string{"REDLOCK_URLS=" + strings.Join(urls, ",")}, nil
	case "zk":
		z, err := s.ZooKeeper()
		if err != nil {
			return nil, err
		}
		return []string{"ZK_ADDR=" + z.Address}, nil
	case "etcd":
		e, err := s.Etcd()
		if err != nil {
			return nil, err
		}
		return []string{"ETCD_ADDR=" + e.Endpoint}, nil
	case "memcache":
		m, err := s.Memcached()
		if err != nil {
			return nil, err
		}
		return []string{"MEMCACHE_ADDR=" + m.Address}, nil
	}
	return nil, nil
}
