package lab_test

import (
	"slices"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// HAProxy finds a member that accepts writes without being told. It stays with the one that a
// group has elected when the former primary is back.
func TestKilledMemberIsReplacedAndJoinsAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range []*lab.GroupKind{lab.Galera, lab.SinglePrimary} {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			g := labtest.Group(t, kind, 3)
			proxy := labtest.Start(t, func(l *lab.Lab) (*lab.HAProxy, error) {
				return lab.StartHAProxy(l, nil, lab.OneWriter, g.Members...)
			})
			db := labtest.Open(t, proxy.DSN("mysql"))
			writeRows(t, db, 1)
			g.Members[0].Kill()
			check.Eventually(t, "another member accepts writes", func() bool {
				_, err := db.ExecContext(t.Context(), `INSERT INTO test.numbers VALUES (1)`)
				return err == nil
			})
			check.NoError(t, g.Members[0].Restart())
			check.NoError(t, g.AwaitJoined())
			for i, m := range g.Members {
				if n := countRows(t, labtest.Open(t, m.SyncedDSN("mysql"))); n != 2 {
					t.Errorf("member %d has %d rows, want 2", i+1, n)
				}
			}
			if id := serverID(t, db); kind == lab.SinglePrimary && !slices.Contains([]int{2, 3}, id) {
				t.Errorf("the connections lead to server %d", id)
			}
		})
	}
}
