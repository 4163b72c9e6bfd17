package mysqllock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/mysqllock"
)

// The timeouts of the DSN end requests on a connection that hangs.
func TestRowsFaults(t *testing.T) {
	t.Parallel()
	dsn := labtest.DSN(t)
	cfg, err := mysql.ParseDSN(dsn)
	check.NoError(t, err)
	locktest.RunFaults(t, rowsPromises, true, cfg.Addr, func(tb testing.TB, hostport string) lock.Locker {
		cfg := cfg.Clone()
		cfg.Net, cfg.Addr = "tcp", hostport
		cfg.Timeout, cfg.ReadTimeout = time.Second, time.Second // a commit on a busy disk may take half of it
		return mysqllock.NewRows(labtest.Open(tb, cfg.FormatDSN()))
	})
}

func TestRowsOutages(t *testing.T) {
	t.Parallel()
	server := labtest.MySQL(t)
	dsn := labtest.EmptyDatabase(t, server)
	labtest.Migrate(t, labtest.Open(t, dsn))
	locktest.RunOutages(t, server.Server, true, func(tb testing.TB) lock.Locker {
		return mysqllock.NewRows(labtest.Open(tb, dsn+"?timeout=200ms&readTimeout=500ms"))
	})
}

func shortContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// A caller that has left while it waited for a connection gets no lease later.
func TestExhaustedPoolAcquiresForNoCallerThatHasLeft(t *testing.T) {
	t.Parallel()
	db, key := labtest.DB(t), labtest.Name(t)
	db.SetMaxOpenConns(1)
	conn, err := db.Connx(t.Context())
	check.NoError(t, err)
	_, err = mysqllock.NewRows(db).TryLock(shortContext(t), key, time.Minute)
	locktest.WantUnknown(t, err)
	check.NoError(t, conn.Close())
	for range 50 { // a waiting TryLock would come in between
		check.NoError(t, db.PingContext(t.Context()))
	}
	var rows int
	check.NoError(t, db.GetContext(t.Context(), &rows, "SELECT COUNT(*) FROM locks WHERE name = ?", key))
	if rows != 0 {
		t.Error("the key was locked after its caller had left")
	}
}

// The statements of callers that have given up are still under way. Others call Drain while
// they give up.
func TestDrainWaitsForStatementsWhoseCallersHaveLeft(t *testing.T) {
	t.Parallel()
	db, key := labtest.DB(t), labtest.Name(t)
	l := mysqllock.NewRows(db)
	check.NoError(t, locktest.MustTryLock(t, l, key, time.Minute).Release(t.Context()))
	tx, err := db.BeginTxx(t.Context(), nil)
	check.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "SELECT * FROM locks WHERE name = ? FOR UPDATE", key)
	check.NoError(t, err)
	short := shortContext(t)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			_, err := l.TryLock(short, key, time.Minute)
			locktest.WantUnknown(t, err)
		})
		callers.Go(func() { <-short.Done(); l.Drain(short) })
	}
	callers.Wait()
	check.NoError(t, tx.Rollback())
	l.Drain(t.Context())
	locktest.MustTryLock(t, l, key, time.Minute)
}

// The server falls silent when it is asked, or later while the waiter waits.
func TestSilentServerIsNoRefusal(t *testing.T) {
	t.Parallel()
	proxy, through := labtest.ProxiedMySQL(t, labtest.DSN(t))
	silent, key := open(t, through), labtest.Name(t)
	check.NoError(t, locktest.MustTryLock(t, silent, "connects", time.Minute).Release(t.Context()))
	proxy.PartitionAfter(key)
	_, err := silent.TryLock(shortContext(t), key, time.Minute)
	locktest.WantUnknown(t, err)
	if !proxy.Partitioned() {
		t.Error("the server was not asked for the lock")
	}
}

// The reply to the first request was lost with its connection, and the second was
// granted. The server runs the first one after the release.
func TestRepeatedRequestThatComesLateLeavesNoLease(t *testing.T) {
	t.Parallel()
	dsn, key := labtest.DSN(t), labtest.Name(t)
	db := labtest.Open(t, dsn)
	proxy, through := labtest.ProxiedMySQL(t, dsn)
	l := mysqllock.NewRows(labtest.Open(t, through))
	proxy.Inject(faultproxy.LoseReply, key, 1)
	lease := locktest.MustTryLock(t, l, key, time.Minute)
	var owner string
	check.NoError(t, db.GetContext(t.Context(), &owner, "SELECT owner FROM locks WHERE name = ?", key))
	check.NoError(t, lease.Release(t.Context()))
	_, err := db.ExecContext(t.Context(), "UPDATE locks SET owner = ? WHERE name = ?", owner, key)
	check.NoError(t, err)
	l.Drain(t.Context())
	locktest.MustTryLock(t, mysqllock.NewRows(db), key, time.Minute)
}
