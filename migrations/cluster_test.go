package migrations_test

import (
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/migrations"
)

// Named locks are of one node: two processes do not wait for each other.
func TestUpOnTwoGaleraNodesAtOnce(t *testing.T) {
	t.Parallel()
	nodes := labtest.Group(t, lab.Galera, 2).Members
	for range 3 {
		first, second := onBoth(t, nodes)
		check.AtOnce(2, func(i int) {
			if err := migrations.Up(t.Context(), []*sqlx.DB{first, second}[i].DB); err != nil {
				t.Error(err)
			}
		})
		mustUp(t, first) // as one that finds all done
		check.NoError(t, migrated(t, first))
	}
}

// All members of the group accept writes. It refuses SERIALIZABLE transactions, and two members that
// alter a table at once leave it.
func TestUpOnOnePrimaryOfAGroupIsUpOnTheOthers(t *testing.T) {
	t.Parallel()
	first, second := onBoth(t, labtest.Group(t, lab.MultiPrimary, 2).Members)
	mustUp(t, first)
	check.Eventually(t, "the other has the tables", func() bool { return migrated(t, second) == nil })
	mustUp(t, second)
}

// onBoth returns a new database, at two nodes.
func onBoth(t *testing.T, nodes []*lab.MySQL) (first, second *sqlx.DB) {
	t.Helper()
	dsn := labtest.EmptyDatabase(t, nodes[0])
	name := strings.TrimPrefix(dsn, nodes[0].DSN(""))
	first, second = labtest.Open(t, dsn), labtest.Open(t, nodes[1].DSN(name))
	check.Eventually(t, "the second node has the database", func() bool { return second.Ping() == nil })
	return first, second
}

// migrated returns an error unless all tables are as the migrations make them.
func migrated(t *testing.T, db *sqlx.DB) error {
	t.Helper()
	return migrations.CheckGuards(t.Context(), db.DB)
}
