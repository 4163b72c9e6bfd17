package rig

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
)

// A Service is two instances behind nginx on a Redis topology of their own.
type Service struct {
	*Fleet
	Topology *lab.Topology
	Redis    redis.UniversalClient // of the topology
}

// WithService runs job on the service with a lock driver on the named Redis topology,
// and stops the service afterwards.
func (s *Stack) WithService(
	ctx context.Context, topology, driver string, job func(*Service) error, settings ...string,
) error {
	driverSettings, err := s.LockServers(driver)
	if err != nil {
		return err
	}
	t, err := lab.StartTopology(s.Lab, topology)
	if err != nil {
		return err
	}
	defer t.Kill()
	service := &Service{Topology: t}
	if service.Redis, err = connect.Redis(t.URL, 4); err != nil {
		return err
	}
	defer service.Redis.Close()
	settings = append(append([]string{
		"REDIS_URL=" + t.URL, "LOCK=" + driver, "LAB=true", "LOCK_WAIT=60s", "LOCK_TTL=2s", "USER_RATE=0",
		"LOG_LEVEL=error",
	}, driverSettings...), settings...)
	sale, err := s.NewSale(ctx, settings...)
	if err != nil {
		return err
	}
	return sale.With(2, func(f *Fleet) error {
		service.Fleet = f
		return job(service)
	})
}

// LockDependencies are what LockServers may start.
var LockDependencies = []*lab.Dependency{
	lab.RedisServer, lab.ZooKeeperServer, lab.EtcdServer, lab.MemcachedServer,
}

// LockServers starts the servers that a driver needs beside MySQL and Redis, unless it has, and
// returns the settings that name them. The servers end with the stack.
func (s *Stack) LockServers(driver string) ([]string, error) {
	return s.once("lock "+driver, func() ([]string, error) { return s.startLockServers(driver) })
}

// RedisServers starts a Redis topology, unless it has, and returns the setting that names it: none for
// the single Redis of each sale. The servers end with the stack.
func (s *Stack) RedisServers(topology string) ([]string, error) {
	if topology == "single" {
		return nil, nil
	}
	return s.once("Redis "+topology, func() ([]string, error) {
		t, err := lab.StartTopology(s.Lab, topology)
		if err != nil {
			return nil, err
		}
		return []string{"REDIS_URL=" + t.URL}, nil
	})
}

// once starts what has not been started.
func (s *Stack) once(name string, start func() ([]string, error)) (settings []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	settings, started := s.started[name]
	if started {
		return settings, nil
	}
	if s.started == nil {
		s.started = map[string][]string{}
	}
	if settings, err = start(); err == nil {
		s.started[name] = settings
	}
	return settings, err
}

func (s *Stack) startLockServers(driver string) (settings []string, err error) {
	if driver == "redlock" {
		nodes, err := lab.StartIndependentRedis(s.Lab, 5)
		if err != nil {
			return nil, err
		}
		var urls []string
		for _, node := range nodes {
			urls = append(urls, node.URL)
		}
		return []string{"REDLOCK_URLS=" + strings.Join(urls, ",")}, nil
	}
	needed, ok := lockServers[driver]
	if !ok {
		return nil, nil
	}
	server, err := needed.start(s.Lab)
	if err != nil {
		return nil, err
	}
	return []string{needed.setting + "=" + server.Address}, nil
}

var lockServers = map[string]struct {
	setting string
	start   func(*lab.Lab) (*lab.Server, error)
}{
	"zk": {"ZK_ADDR", func(l *lab.Lab) (*lab.Server, error) {
		z, err := lab.StartZooKeeper(l)
		return z.Server, err
	}},
	"etcd":     {"ETCD_ADDR", lab.StartEtcd},
	"memcache": {"MEMCACHE_ADDR", lab.StartMemcached},
}
