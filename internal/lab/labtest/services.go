package labtest

import (
	"sync"
	"testing"

	"example.com/flashsale/internal/lab"
)

// The servers that a test binary's tests share, if they leave them alone.
var (
	memcached = sync.OnceValues(func() (*lab.Memcached, error) { return shared.Memcached() })
	etcd      = sync.OnceValues(func() (*lab.Etcd, error) { return shared.Etcd() })
	zookeeper = sync.OnceValues(func() (*lab.ZooKeeper, error) { return shared.ZooKeeper() })
)

// SharedMemcached is this binary's memcached, for tests that leave it alone.
func SharedMemcached(tb testing.TB) *lab.Memcached {
	tb.Helper()
	Lab(tb)
	return started(tb, memcached)
}

// SharedEtcd is this binary's etcd, for tests that leave it alone.
func SharedEtcd(tb testing.TB) *lab.Etcd {
	tb.Helper()
	Lab(tb)
	return started(tb, etcd)
}

// SharedZooKeeper is this binary's ZooKeeper, for tests that leave it alone.
func SharedZooKeeper(tb testing.TB) *lab.ZooKeeper {
	tb.Helper()
	Lab(tb)
	return started(tb, zookeeper)
}

// Memcached starts a memcached that belongs to this test alone.
func Memcached(tb testing.TB) *lab.Memcached {
	tb.Helper()
	s := started(tb, Lab(tb).Memcached)
	tb.Cleanup(s.Kill)
	return s
}

// Etcd starts an etcd that belongs to this test alone.
func Etcd(tb testing.TB) *lab.Etcd {
	tb.Helper()
	s := started(tb, Lab(tb).Etcd)
	tb.Cleanup(s.Kill)
	return s
}

// ZooKeeper starts a ZooKeeper that belongs to this test alone.
func ZooKeeper(tb testing.TB) *lab.ZooKeeper {
	tb.Helper()
	s := started(tb, Lab(tb).ZooKeeper)
	tb.Cleanup(s.Kill)
	return s
}

func started[S any](tb testing.TB, start func() (S, error)) S {
	tb.Helper()
	s, err := start()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// Topology starts a Redis of the shape called name (see lab.Shapes) that belongs
// to this test alone.
func Topology(tb testing.TB, name string) *lab.Topology {
	tb.Helper()
	t := started(tb, func() (*lab.Topology, error) { return Lab(tb).Topology(name) })
	tb.Cleanup(t.Kill)
	return t
}
