package migrations_test

import (
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/migrations"
)

// Named locks are of one node: two processes do not wait for each other.
func TestUpOnTwoGaleraNodesAtOnce(t *testing.T) {
	t.Parallel()
	migrateOnTwoAtOnce(t, labtest.Group(t, lab.Galera, 2).Members)
}

// All members of the group accept writes. It refuses SERIALIZABLE transactions.
func TestUpOnTwoPrimariesOfAGroupAtOnce(t *testing.T) {
	t.Parallel()
	migrateOnTwoAtOnce(t, labtest.Group(t, lab.MultiPrimary, 2).Members)
}

func migrateOnTwoAtOnce(t *testing.T, nodes []*lab.MySQL) {
	t.Helper()
	for range 3 {
		dsn := labtest.EmptyDatabase(t, nodes[0])
		name := strings.TrimPrefix(dsn, nodes[0].DSN(""))
		first, second := labtest.Open(t, dsn), labtest.Open(t, nodes[1].DSN(name))
		labtest.Eventually(t, "the second node has the database", func() bool { return second.Ping() == nil })
		result := make(chan error, 2)
		for _, db := range []*sqlx.DB{first, second} {
			go func() { result <- migrations.Up(t.Context(), db.DB) }()
		}
		for range 2 {
			if err := <-result; err != nil {
				t.Error(err)
			}
		}
		mustUp(t, first) // as one that finds all done
		if _, err := first.Exec(`SELECT 1 FROM coupons, coupon_orders, locks, coupon_changes`); err != nil {
			t.Error(err)
		}
	}
}
