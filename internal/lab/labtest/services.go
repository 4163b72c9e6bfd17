package labtest

import (
	"runtime"
	"sync"
	"testing"

	"example.com/flashsale/internal/lab"
)

// Servers that the tests of a test binary share.
var (
	mysql     = sync.OnceValues(func() (*lab.MySQL, error) { return shared.MySQL() })
	memcached = sync.OnceValues(func() (*lab.Memcached, error) { return shared.Memcached() })
	etcd      = sync.OnceValues(func() (*lab.Etcd, error) { return shared.Etcd() })
	zookeeper = sync.OnceValues(func() (*lab.ZooKeeper, error) { return shared.ZooKeeper() })
)

// SharedMySQL returns the test binary's database server. Tests must not stop or
// pause it.
func SharedMySQL(tb testing.TB) *lab.MySQL {
	tb.Helper()
	Lab(tb)
	return mustStart(tb, mysql)
}

// SharedMemcached returns the test binary's memcached. Tests must not stop or
// pause it.
func SharedMemcached(tb testing.TB) *lab.Memcached {
	tb.Helper()
	Lab(tb)
	return mustStart(tb, memcached)
}

// SharedEtcd returns the test binary's etcd. Tests must not stop or pause it.
func SharedEtcd(tb testing.TB) *lab.Etcd {
	tb.Helper()
	Lab(tb)
	return mustStart(tb, etcd)
}

// SharedZooKeeper returns the test binary's ZooKeeper. Tests must not stop or
// pause it.
func SharedZooKeeper(tb testing.TB) *lab.ZooKeeper {
	tb.Helper()
	Lab(tb)
	return mustStart(tb, zookeeper)
}

// Memcached starts a memcached for this test alone.
func Memcached(tb testing.TB) *lab.Memcached {
	tb.Helper()
	s := mustStart(tb, Lab(tb).Memcached)
	tb.Cleanup(s.Kill)
	return s
}

// Etcd starts an etcd for this test alone.
func Etcd(tb testing.TB) *lab.Etcd {
	tb.Helper()
	s := mustStart(tb, Lab(tb).Etcd)
	tb.Cleanup(s.Kill)
	return s
}

// ZooKeeper starts a ZooKeeper for this test alone.
func ZooKeeper(tb testing.TB) *lab.ZooKeeper {
	tb.Helper()
	s := mustStart(tb, Lab(tb).ZooKeeper)
	tb.Cleanup(s.Kill)
	return s
}

// mustStart calls start and fails the test on an error.
func mustStart[S any](tb testing.TB, start func() (S, error)) S {
	tb.Helper()
	s, err := start()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// Topology starts Redis in the named topology (see lab.Topologies) for this
// test alone.
func Topology(tb testing.TB, name string) *lab.Topology {
	tb.Helper()
	t := mustStart(tb, func() (*lab.Topology, error) { return Lab(tb).Topology(name) })
	tb.Cleanup(t.Kill)
	return t
}

// Galera starts a Galera cluster of n nodes for this test alone, with args added
// to each command line. It skips the test where MariaDB comes without Galera.
func Galera(tb testing.TB, n int, args ...string) *lab.Galera {
	tb.Helper()
	if runtime.GOOS != "linux" {
		tb.Skip("MariaDB's packages for " + runtime.GOOS + " have no Galera")
	}
	g := mustStart(tb, func() (*lab.Galera, error) { return Lab(tb).Galera(n, args...) })
	tb.Cleanup(g.Kill)
	return g
}
