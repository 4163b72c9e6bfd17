package mysqllock_test

import (
	"strings"
	"sync/atomic"
	"testing"

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
	g := labtest.Galera(t, 2)
	dsn := labtest.EmptyDatabase(t, g.Nodes[0])
	labtest.Migrate(t, labtest.Open(t, dsn))
	name := strings.TrimPrefix(dsn, g.Nodes[0].DSN(""))
	var clients atomic.Int64
	locktest.Run(t, rowsPromises, func(tb testing.TB) lock.Locker {
		node := g.Nodes[clients.Add(1)%2]
		return mysqllock.NewRows(labtest.Open(tb, node.DSN(name)+"?wsrep_sync_wait=7"))
	})
}
