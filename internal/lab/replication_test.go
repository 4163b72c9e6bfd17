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

// A commit waits for the replica, so that the promoted one has every row. The proxy finds the
// primary, and after its end the promoted replica, without being told.
func TestPromotedReplicaHasEveryCommittedRowAndTheProxyFindsIt(t *testing.T) {
	t.Parallel()
	r := labtest.Start(t, lab.StartSemiSyncReplication)
	proxy := labtest.Start(t, func(l *lab.Lab) (*lab.HAProxy, error) {
		return lab.StartHAProxy(l, nil, lab.OneWriter, r.Primary, r.Replica)
	})
	db, primary := labtest.Open(t, proxy.DSN("mysql")), labtest.Open(t, r.Primary.DSN("mysql"))
	writeRows(t, primary, 100)
	commitWaitsFor(t, r.Replica, primary)
	check.Eventually(t, "the proxy forwards to the primary",
		func() bool { return db.PingContext(t.Context()) == nil })
	r.Primary.Kill()
	check.Eventually(t, "the proxy refuses connections to the read-only replica",
		func() bool { return db.PingContext(t.Context()) != nil })
	check.NoError(t, r.Promote(t.Context()))
	check.Eventually(t, "the proxy forwards to the replica", func() bool {
		_, err := db.ExecContext(t.Context(), "INSERT INTO test.numbers VALUES (101)")
		return err == nil
	})
	if n := countRows(t, labtest.Open(t, r.Replica.DSN("mysql"))); n != 102 {
		t.Errorf("the promoted replica has %d rows, want 102", n)
	}
}

// commitWaitsFor commits one more row while the replica is suspended.
func commitWaitsFor(t *testing.T, replica *lab.MySQL, primary *sqlx.DB) {
	t.Helper()
	replica.Pause()
	committed := check.Begin(func() error {
		_, err := primary.ExecContext(t.Context(), "INSERT INTO test.numbers VALUES (100)")
		return err
	})
	select {
	case err := <-committed:
		t.Errorf("the commit has returned without the replica, err %v", err)
		replica.Resume()
	case <-time.After(500 * time.Millisecond):
		replica.Resume()
		check.NoError(t, <-committed)
	}
}
