package labtest_test

import (
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.MemcachedServer, lab.EtcdServer, lab.ZooKeeperServer)
}

func TestMySQLAndRedisServeRequests(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	var isolation string
	if err := db.GetContext(t.Context(), &isolation, "SELECT @@tx_isolation"); err != nil {
		check.NoError(t, db.GetContext(t.Context(), &isolation, "SELECT @@transaction_isolation"))
	}
	if isolation != "READ-COMMITTED" {
		t.Errorf("isolation = %s, want READ-COMMITTED", isolation)
	}
	check.NoError(t, labtest.Dial(t, labtest.Redis(t)).Ping(t.Context()).Err())
}

func TestLockServersStart(t *testing.T) {
	t.Parallel()
	labtest.Memcached(t)
	labtest.Etcd(t)
	labtest.ZooKeeper(t)
}
