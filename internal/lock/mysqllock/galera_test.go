package mysqllock_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/mysqllock"
)

// Each client is connected to the other node than the client before. With
// wsrep_sync_wait a statement sees what the other node has committed before;
// without it, a released key may be refused for a moment.
func TestRowsConformanceOnTwoGaleraNodes(t *testing.T) {
	t.Parallel()
	g := labtest.Group(t, lab.Galera, 2)
	dsn := labtest.EmptyDatabase(t, g.Members[0])
	labtest.Migrate(t, labtest.Open(t, dsn))
	name := strings.TrimPrefix(dsn, g.Members[0].DSN(""))
	var clients atomic.Int64
	locktest.Run(t, rowsPromises, func(tb testing.TB) lock.Locker {
		node := g.Members[clients.Add(1)%2]
		return mysqllock.NewRows(labtest.Open(tb, node.DSN(name)+"?wsrep_sync_wait=7"))
	})
}
