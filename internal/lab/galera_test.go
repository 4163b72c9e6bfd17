package lab_test

import (
	"slices"
	"testing"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestGaleraNodeJoinsAgainAfterKill(t *testing.T) {
	t.Parallel()
	g := labtest.Group(t, lab.Galera, 3)
	dsn := func(i int) string { // each statement sees what the whole cluster has committed before
		return g.Members[i].DSN("mysql") + "?timeout=9s&readTimeout=9s&wsrep_sync_wait=15"
	}
	first, third := labtest.Open(t, dsn(0)), labtest.Open(t, dsn(2))
	first.MustExec(`CREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB`)
	third.MustExec(`INSERT INTO t VALUES (1)`)
	first.MustExec(`INSERT INTO t VALUES (2)`)
	g.Members[0].Kill()
	third.MustExec(`INSERT INTO t VALUES (3)`) // waits until the others agree that the first node is gone
	check.NoError(t, g.Members[0].Restart())
	for i := range g.Members {
		if ids := rowsOf(t, labtest.Open(t, dsn(i))); !slices.Equal(ids, []int{1, 2, 3}) {
			t.Errorf("node %d has rows %v", i+1, ids)
		}
	}
}

func rowsOf(t *testing.T, db *sqlx.DB) (ids []int) {
	t.Helper()
	check.NoError(t, db.SelectContext(t.Context(), &ids, `SELECT id FROM t ORDER BY id`))
	return ids
}
