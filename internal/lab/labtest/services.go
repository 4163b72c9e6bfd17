package labtest

import (
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
	SharedMySQL     = Shares(func(l *lab.Lab) (*lab.MySQL, error) { return lab.StartMySQL(l) })
	SharedRedis     = Shares(func(l *lab.Lab) (*lab.Redis, error) { return lab.StartRedis(l) })
	SharedMemcached = Shares(lab.StartMemcached)
	SharedEtcd      = Shares(lab.StartEtcd)
	SharedZooKeeper = Shares(lab.StartZooKeeper)
	SharedCluster   = Shares(func(l *lab.Lab) (*lab.Topology, error) { return lab.StartTopology(l, "cluster") })
)

// Servers for one test alone. Those of an ensemble are three.
var (
	Memcached         = starts(lab.StartMemcached)
	Etcd              = starts(lab.StartEtcd)
	ZooKeeper         = starts(lab.StartZooKeeper)
	EtcdEnsemble      = starts(lab.StartEtcdEnsemble, needNetwork)
	ZooKeeperEnsemble = starts(lab.StartZooKeeperEnsemble, needNetwork)
)

// Shares returns a function that starts a server in the test binary's lab when it is called
// first.
func Shares[S any](start func(*lab.Lab) (S, error)) func(testing.TB) S {
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

// Group starts a cluster of n database servers for this test alone, with args added to each
// command line. It skips the test where the database server cannot form one of this kind.
func Group(tb testing.TB, kind *lab.GroupKind, n int, args ...string) *lab.Group {
	tb.Helper()
	if kind == lab.Galera && runtime.GOOS != "linux" {
		tb.Skip("MariaDB's packages for " + runtime.GOOS + " have no Galera")
	}
	switch err := SharedMySQL(tb).CanJoin(tb.Context(), kind); {
	case errors.Is(err, lab.ErrNoGroup):
		tb.Skip(err)
	case err != nil:
		tb.Fatal(err)
	}
	return Start(tb, func(l *lab.Lab) (*lab.Group, error) {
		return lab.StartGroup(l, kind, make([]*lab.Host, n), args...)
	})
}

// needNetwork skips the test where there are no network namespaces.
func needNetwork(tb testing.TB) {
	tb.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		tb.Skip("network namespaces need Linux and root")
	}
}
