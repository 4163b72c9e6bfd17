package labtest

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

// Servers that the tests of a test binary share.
var (
	database  = once(func(l *lab.Lab) (*lab.MySQL, error) { return lab.StartMySQL(l) })
	memcached = once(lab.StartMemcached)
	etcd      = once(lab.StartEtcd)
	zookeeper = once(lab.StartZooKeeper)
	cluster   = once(func(l *lab.Lab) (*lab.Topology, error) { return lab.StartTopology(l, "cluster") })
)

// once returns a function that starts a server in the test binary's lab when it
// is called first.
func once[S any](start func(*lab.Lab) (S, error)) func() (S, error) {
	return sync.OnceValues(func() (S, error) { return start(shared) })
}

// SharedMySQL returns the test binary's database server. Tests must not stop or
// pause it.
func SharedMySQL(tb testing.TB) *lab.MySQL {
	tb.Helper()
	Lab(tb)
	return mustStart(tb, database)
}

// SharedMemcached returns the test binary's memcached. Tests must not stop or
// pause it.
func SharedMemcached(tb testing.TB) *lab.Server {
	tb.Helper()
	Lab(tb)
	return mustStart(tb, memcached)
}

// SharedEtcd returns the test binary's etcd. Tests must not stop or pause it.
func SharedEtcd(tb testing.TB) *lab.Server {
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

// SharedCluster returns the test binary's Redis Cluster. Tests must not stop or pause its
// nodes, or move its slots.
func SharedCluster(tb testing.TB) *lab.Topology {
	tb.Helper()
	Lab(tb)
	return mustStart(tb, cluster)
}

// Memcached starts a memcached for this test alone.
func Memcached(tb testing.TB) *lab.Server {
	tb.Helper()
	return Start(tb, lab.StartMemcached)
}

// Etcd starts an etcd for this test alone.
func Etcd(tb testing.TB) *lab.Server {
	tb.Helper()
	return Start(tb, lab.StartEtcd)
}

// ZooKeeper starts a ZooKeeper for this test alone.
func ZooKeeper(tb testing.TB) *lab.ZooKeeper {
	tb.Helper()
	return Start(tb, lab.StartZooKeeper)
}

// Start starts a server that is killed when the test ends.
func Start[S interface{ Kill() }](tb testing.TB, start func(*lab.Lab) (S, error)) S {
	tb.Helper()
	l := Lab(tb)
	s := mustStart(tb, func() (S, error) { return start(l) })
	tb.Cleanup(s.Kill)
	return s
}

// mustStart calls start and fails the test on an error.
func mustStart[S any](tb testing.TB, start func() (S, error)) S {
	tb.Helper()
	s, err := start()
	check.NoError(tb, err)
	return s
}

// Topology starts Redis in the named topology (see lab.Topologies) for this
// test alone.
func Topology(tb testing.TB, name string) *lab.Topology {
	tb.Helper()
	return Start(tb, func(l *lab.Lab) (*lab.Topology, error) { return lab.StartTopology(l, name) })
}

// Galera starts a Galera cluster of n nodes for this test alone, with args added
// to each command line. It skips the test where the database server is not MariaDB, or
// comes without Galera.
func Galera(tb testing.TB, n int, args ...string) *lab.Galera {
	tb.Helper()
	if runtime.GOOS != "linux" {
		tb.Skip("MariaDB's packages for " + runtime.GOOS + " have no Galera")
	}
	needServer(tb, (*lab.MySQL).HasGalera, lab.ErrNoGalera)
	return Start(tb, func(l *lab.Lab) (*lab.Galera, error) { return lab.StartGalera(l, n, args...) })
}

// ReplicationGroup starts a MySQL replication group of n members for this test alone,
// with args added to each command line. It skips the test where the database server
// has no plugin for it, as MariaDB.
func ReplicationGroup(tb testing.TB, mode lab.GroupMode, n int, args ...string) *lab.ReplicationGroup {
	tb.Helper()
	needServer(tb, (*lab.MySQL).HasGroupReplication, lab.ErrNoGroupReplication)
	return Start(tb, func(l *lab.Lab) (*lab.ReplicationGroup, error) {
		return lab.StartReplicationGroup(l, mode, n, args...)
	})
}

// needServer skips the test if the database server cannot do what has asks for, which
// the error lacks says.
func needServer(tb testing.TB, has func(*lab.MySQL, context.Context) error, lacks error) {
	tb.Helper()
	switch err := has(SharedMySQL(tb), tb.Context()); {
	case errors.Is(err, lacks):
		tb.Skip(err)
	case err != nil:
		tb.Fatal(err)
	}
}

// ZooKeeperEnsemble starts a ZooKeeper of three servers for this test alone.
func ZooKeeperEnsemble(tb testing.TB) *lab.Ensemble {
	tb.Helper()
	needNetwork(tb)
	return Start(tb, lab.StartZooKeeperEnsemble)
}

// EtcdEnsemble starts an etcd of three members for this test alone.
func EtcdEnsemble(tb testing.TB) *lab.Ensemble {
	tb.Helper()
	needNetwork(tb)
	return Start(tb, lab.StartEtcdEnsemble)
}

// needNetwork skips the test where there are no network namespaces.
func needNetwork(tb testing.TB) {
	tb.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		tb.Skip("network namespaces need Linux and root")
	}
}
