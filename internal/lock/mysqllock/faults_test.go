package mysqllock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/mysqllock"
	"example.com/flashsale/migrations"
)

// The timeouts of the DSN end requests on a connection that hangs.
func TestRowsFaults(t *testing.T) {
	t.Parallel()
	dsn := labtest.DSN(t)
	cfg, err := mysql.ParseDSN(dsn)
	noError(t, "parse", err)
	locktest.RunFaults(t, rowsPromises, true, cfg.Net, cfg.Addr, func(tb testing.TB, hostport string) lock.Locker {
		cfg := cfg.Clone()
		cfg.Net, cfg.Addr = "tcp", hostport
		cfg.Timeout, cfg.ReadTimeout = time.Second, time.Second // a commit on a busy disk may take half of it
		return mysqllock.NewRows(labtest.Open(tb, cfg.FormatDSN()))
	})
}

func wantUnknown(tb testing.TB, what string, err error) {
	tb.Helper()
	if err == nil || errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) {
		tb.Errorf("%s: %v, want an unknown outcome", what, err)
	}
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
	noError(t, "take the only connection", err)
	_, err = mysqllock.NewRows(db).TryLock(shortContext(t), key, time.Minute)
	wantUnknown(t, "TryLock", err)
	noError(t, "give the connection back", conn.Close())
	for range 50 { // a waiting TryLock would come in between
		noError(t, "ping", db.PingContext(t.Context()))
	}
	var rows int
	noError(t, "count", db.GetContext(t.Context(), &rows, "SELECT COUNT(*) FROM locks WHERE name = ?", key))
	if rows != 0 {
		t.Error("the key was locked after its caller had left")
	}
}

// The statement of a caller that has given up is still under way.
func TestDrainWaitsForStatementsWhoseCallersHaveLeft(t *testing.T) {
	t.Parallel()
	db, key := labtest.DB(t), labtest.Name(t)
	l := mysqllock.NewRows(db)
	noError(t, "release", mustTryLock(t, l, key, time.Minute).Release(t.Context()))
	tx, err := db.BeginTxx(t.Context(), nil)
	noError(t, "begin", err)
	_, err = tx.ExecContext(t.Context(), "SELECT * FROM locks WHERE name = ? FOR UPDATE", key)
	noError(t, "lock the row", err)
	_, err = l.TryLock(shortContext(t), key, time.Minute)
	wantUnknown(t, "TryLock", err)
	noError(t, "unlock the row", tx.Rollback())
	l.Drain(t.Context())
	mustTryLock(t, l, key, time.Minute)
}

// The request of a caller that has given up is in the server's buffer, and the
// release cannot connect. The server runs the request when it is resumed.
func TestRequestThatTimedOutLeavesNoLease(t *testing.T) {
	t.Parallel()
	server := labtest.MySQL(t)
	dsn := labtest.EmptyDatabase(t, server)
	noError(t, "migrate", migrations.Up(t.Context(), labtest.Open(t, dsn).DB))
	cfg, err := mysql.ParseDSN(dsn)
	noError(t, "parse", err)
	cfg.Timeout, cfg.ReadTimeout = 200*time.Millisecond, 200*time.Millisecond
	l, key := mysqllock.NewRows(labtest.Open(t, cfg.FormatDSN())), labtest.Name(t)
	noError(t, "release", mustTryLock(t, l, "connects", time.Minute).Release(t.Context()))
	server.Pause()
	_, err = l.TryLock(t.Context(), key, time.Minute)
	wantUnknown(t, "TryLock of a paused server", err)
	server.Resume()
	healthy := mysqllock.NewRows(labtest.Open(t, dsn))
	free := func() bool {
		held, err := healthy.TryLock(t.Context(), key, time.Minute)
		if err == nil {
			noError(t, "release", held.Release(t.Context()))
		}
		return err == nil
	}
	for end := time.Now().Add(20 * time.Second); !free(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the key is still locked, and nobody holds it")
		}
	}
	l.Drain(t.Context())
	if !free() {
		t.Error("the key is locked after Drain")
	}
}

func TestRefusalTellsWhenTheHoldersLeaseEnds(t *testing.T) {
	t.Parallel()
	l, key := mysqllock.NewRows(labtest.DB(t)), labtest.Name(t)
	mustTryLock(t, l, key, time.Minute)
	_, err := l.TryLock(t.Context(), key, time.Hour)
	locked, ok := errors.AsType[*lock.LockedError](err)
	if !ok || locked.Left > time.Minute || locked.Left < 30*time.Second {
		t.Errorf("TryLock: %#v, want a LockedError with at most a minute", err)
	}
}

// The server falls silent when it is asked, or later while the waiter waits.
func TestSilentServerIsNoRefusal(t *testing.T) {
	t.Parallel()
	for _, locked := range []bool{false, true} {
		dsn, key := labtest.DSN(t), labtest.Name(t)
		cfg, err := mysql.ParseDSN(dsn)
		noError(t, "parse", err)
		proxy, err := faultproxy.New(cfg.Net, cfg.Addr)
		noError(t, "proxy", err)
		t.Cleanup(func() { _ = proxy.Close() })
		cfg.Net, cfg.Addr = "tcp", proxy.Addr()
		silent := open(t, cfg.FormatDSN())
		noError(t, "release", mustTryLock(t, silent, "connects", time.Minute).Release(t.Context()))
		match := key
		if locked {
			mustTryLock(t, open(t, dsn), key, time.Minute)
			match = "365" // of the statement that waits
		}
		proxy.PartitionAfter(match)
		_, err = silent.Lock(shortContext(t), key, time.Minute)
		wantUnknown(t, "Lock on a silent server", err)
		if !proxy.Partitioned() {
			t.Error("the server was not asked for the lock")
		}
	}
}

// The server grants the lock as the wait ends, and then falls silent.
func TestWaitEndsAlthoughTheReleaseHasNoReply(t *testing.T) {
	t.Parallel()
	cfg, err := mysql.ParseDSN(labtest.DSN(t))
	noError(t, "parse", err)
	proxy, err := faultproxy.New(cfg.Net, cfg.Addr)
	noError(t, "proxy", err)
	t.Cleanup(func() { _ = proxy.Close() })
	cfg.Net, cfg.Addr = "tcp", proxy.Addr()
	conn, err := labtest.Open(t, cfg.FormatDSN()).Conn(t.Context())
	noError(t, "connect", err)
	proxy.Partition()
	ended := make(chan error, 1)
	go func() { ended <- mysqllock.EndWait(shortContext(t), conn, labtest.Name(t), nil) }()
	select {
	case err := <-ended:
		if !errors.Is(err, lock.ErrLocked) {
			t.Errorf("%v, want ErrLocked", err)
		}
	case <-time.After(20 * time.Second):
		proxy.Heal()
		t.Fatal("the wait has not ended")
	}
}

// The reply to the first request was lost with its connection, and the second was
// granted. The server runs the first one after the release.
func TestRepeatedRequestThatComesLateLeavesNoLease(t *testing.T) {
	t.Parallel()
	dsn, key := labtest.DSN(t), labtest.Name(t)
	db := labtest.Open(t, dsn)
	cfg, err := mysql.ParseDSN(dsn)
	noError(t, "parse", err)
	proxy, err := faultproxy.New(cfg.Net, cfg.Addr)
	noError(t, "proxy", err)
	t.Cleanup(func() { _ = proxy.Close() })
	cfg.Net, cfg.Addr = "tcp", proxy.Addr()
	l := mysqllock.NewRows(labtest.Open(t, cfg.FormatDSN()))
	proxy.Inject(faultproxy.LoseReply, key, 1)
	lease := mustTryLock(t, l, key, time.Minute)
	var owner string
	noError(t, "owner", db.GetContext(t.Context(), &owner, "SELECT owner FROM locks WHERE name = ?", key))
	noError(t, "release", lease.Release(t.Context()))
	_, err = db.ExecContext(t.Context(), "UPDATE locks SET owner = ? WHERE name = ?", owner, key)
	noError(t, "acquire late", err)
	l.Drain(t.Context())
	mustTryLock(t, mysqllock.NewRows(db), key, time.Minute)
}
