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

// Servers that the tests of a test binary share. Tests must not stop or pause them, or move
// the cluster's slots.
var (
	SharedMySQL     = shares(func(l *lab.Lab) (*lab.MySQL, error) { return lab.StartMySQL(l) })
	SharedMemcached = shares(lab.StartMemcached)
	SharedEtcd      = shares(lab.StartEtcd)
	SharedZooKeeper = shares(lab.StartZooKeeper)
	SharedCluster   = shares(func(l *lab.Lab) (*lab.Topology, error) { return lab.StartTopology(l, "cluster") })
)

// Servers for one test alone. Those of an ensemble are three.
var (
	Memcached         = starts(lab.StartMemcached)
	Etcd              = starts(lab.StartEtcd)
	ZooKeeper         = starts(lab.StartZooKeeper)
	EtcdEnsemble      = starts(lab.StartEtcdEnsemble, needNetwork)
	ZooKeeperEnsemble = starts(lab.StartZooKeeperEnsemble, needNetwork)
)

// shares returns a function that starts a server in the test binary's lab when it is called
// first.
func shares[S any](start func(*lab.Lab) (S, error)) func(testing.TB) S {
	once := sync.OnceValues(func() (S, error) { return start(shared) })
	return func(tb testing.TB) S {
		tb.Helper()
		Lab(tb)
		s, err := once()
		check.NoError(tb, err)
		return s
	}
}

// starts returns Start of a server, for tests that all of needs let run.
func starts[S interface{ Kill() }](start func(*lab.Lab) (S, error), needs ...func(testing.TB)) func(testing.TB) S {
	return func(tb testing.TB) S {
		tb.Helper()
		for _, need := range needs {
			need(tb)
		}
		return Start(tb, start)
	}
}

// Start starts a server that is killed when the test ends.
func Start[S interface{ Kill() }](tb testing.TB, start func(*lab.Lab) (S, error)) S {
	tb.Helper()
	s, err := start(Lab(tb))
	check.NoError(tb, err)
	tb.Cleanup(s.Kill)
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

// needNetwork skips the test where there are no network namespaces.
func needNetwork(tb testing.TB) {
	tb.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		tb.Skip("network namespaces need Linux and root")
	}
}
