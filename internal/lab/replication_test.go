package lab_test

import (
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// writeRows creates a table through db and inserts n rows, each committed.
func writeRows(t *testing.T, db *sqlx.DB, n int) {
	t.Helper()
	db.MustExec("CREATE DATABASE test")
	db.MustExec("CREATE TABLE test.numbers (n INT PRIMARY KEY)")
	for i := range n {
		db.MustExec("INSERT INTO test.numbers VALUES (?)", i)
	}
}

func countRows(t *testing.T, db *sqlx.DB) (n int) {
	t.Helper()
	check.NoError(t, db.GetContext(t.Context(), &n, "SELECT COUNT(*) FROM test.numbers"))
	return n
}

// A commit that a suspended replica has not acknowledged returns if replication
// is asynchronous, and waits for the replica if it is semi-synchronous.
func TestSemiSyncCommitWaitsForTheReplica(t *testing.T) {
	t.Parallel()
	for _, replica := range []struct {
		start func(*lab.Lab) (*lab.Replication, error)
		waits bool
	}{{lab.StartAsyncReplication, false}, {lab.StartSemiSyncReplication, true}} {
		r := labtest.Start(t, replica.start)
		db := labtest.Open(t, r.Primary.DSN("mysql"))
		writeRows(t, db, 1)
		r.Replica.Pause()
		committed := check.Begin(func() error {
			_, err := db.ExecContext(t.Context(), "INSERT INTO test.numbers VALUES (1)")
			return err
		})
		patience := 20 * time.Second
		if replica.waits {
			patience = 500 * time.Millisecond
		}
		select {
		case err := <-committed:
			if replica.waits || err != nil {
				t.Errorf("the commit has returned without the replica, want it to wait: %v; err %v",
					replica.waits, err)
			}
		case <-time.After(patience):
			r.Replica.Resume()
			if err := <-committed; !replica.waits || err != nil {
				t.Errorf("the commit has waited for the replica, want it to wait: %v; err %v", replica.waits, err)
			}
		}
	}
}

// The proxy finds the primary, and after its end the promoted replica, without
// being told.
func TestPromotedReplicaHasEveryCommittedRowAndTheProxyFindsIt(t *testing.T) {
	t.Parallel()
	r := labtest.Start(t, lab.StartSemiSyncReplication)
	proxy := labtest.Start(t, func(l *lab.Lab) (*lab.HAProxy, error) {
		return lab.StartHAProxy(l, nil, lab.OneWriter, r.Primary, r.Replica)
	})
	db := labtest.Open(t, proxy.DSN("mysql"))
	writeRows(t, labtest.Open(t, r.Primary.DSN("mysql")), 100)
	check.Eventually(t, "the proxy forwards to the primary",
		func() bool { return db.PingContext(t.Context()) == nil })
	r.Primary.Kill()
	check.Eventually(t, "the proxy refuses connections to the read-only replica",
		func() bool { return db.PingContext(t.Context()) != nil })
	check.NoError(t, r.Promote(t.Context()))
	check.Eventually(t, "the proxy forwards to the replica", func() bool {
		_, err := db.ExecContext(t.Context(), "INSERT INTO test.numbers VALUES (100)")
		return err == nil
	})
	if n := countRows(t, labtest.Open(t, r.Replica.DSN("mysql"))); n != 101 {
		t.Errorf("the promoted replica has %d rows, want 101", n)
	}
}
