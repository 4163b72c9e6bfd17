package mysqllock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/mysqllock"
	"example.com/flashsale/migrations"
)

func TestMain(m *testing.M) { labtest.Main(m) }

var rowsPromises = locktest.Promises{Exclusive: true, Expires: true, Fences: true, Tick: 10 * time.Millisecond}

func TestRowsConformance(t *testing.T) {
	t.Parallel()
	dsn := labtest.DSN(t)
	locktest.Run(t, rowsPromises, func(tb testing.TB) lock.Locker { return mysqllock.NewRows(labtest.Open(tb, dsn)) })
}

// The DSN's timeouts are what gives up on a silent line.
func TestRowsFaults(t *testing.T) {
	t.Parallel()
	dsn := labtest.DSN(t)
	cfg, err := mysql.ParseDSN(dsn)
	fine(t, "parse", err)
	locktest.RunFaults(t, rowsPromises, false, cfg.Net, cfg.Addr, func(tb testing.TB, hostport string) lock.Locker {
		through := cfg.Clone()
		through.Net, through.Addr = "tcp", hostport
		through.Timeout, through.ReadTimeout = time.Second, time.Second // a busy disk may take half of it
		return mysqllock.NewRows(labtest.Open(tb, through.FormatDSN()))
	})
}

func TestNamedConformance(t *testing.T) {
	t.Parallel()
	dsn := labtest.DSN(t)
	promises := locktest.Promises{Exclusive: true, Waits: true, Watches: true, Tick: 10 * time.Millisecond}
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return open(tb, dsn) })
}

func open(tb testing.TB, dsn string) *mysqllock.Named {
	tb.Helper()
	l, err := mysqllock.OpenNamed(dsn, 16)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

func take(tb testing.TB, l lock.Locker, key string, ttl time.Duration) lock.Lease {
	tb.Helper()
	lease, err := l.TryLock(tb.Context(), key, ttl)
	if err != nil {
		tb.Fatal(err)
	}
	return lease
}

func lost(tb testing.TB, what string, err error) {
	tb.Helper()
	if !errors.Is(err, lock.ErrLost) {
		tb.Errorf("%s: %v, want ErrLost", what, err)
	}
}

func fine(tb testing.TB, what string, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("%s: %v", what, err)
	}
}

// account makes a table that a lock guards.
func account(t *testing.T, db *sqlx.DB) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), "CREATE TABLE account (id INT PRIMARY KEY, amount INT NOT NULL)")
	fine(t, "create", err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO account VALUES (1, 0)")
	fine(t, "insert", err)
}

// deposit writes what its caller has worked out under the lock, if nobody has
// come after it. meanwhile runs between the check and the change.
func deposit(ctx context.Context, db *sqlx.DB, key string, fence uint64, amount int, meanwhile func()) error {
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := mysqllock.Guard(ctx, tx, key, fence); err != nil {
		return err
	}
	meanwhile()
	if _, err := tx.ExecContext(ctx, "UPDATE account SET amount = ? WHERE id = 1", amount); err != nil {
		return err
	}
	return tx.Commit()
}

func TestPausedHolderCannotOverwrite(t *testing.T) {
	t.Parallel()
	db, key := labtest.DB(t), labtest.Name(t)
	account(t, db)
	l := mysqllock.NewRows(db)
	paused := take(t, l, key, time.Millisecond) // and does not notice
	time.Sleep(5 * time.Millisecond)
	next := take(t, l, key, time.Minute)
	fine(t, "deposit", deposit(t.Context(), db, key, next.Fence(), 2, func() {}))
	lost(t, "late deposit", deposit(t.Context(), db, key, paused.Fence(), 1, func() {}))
	var amount int
	fine(t, "read", db.GetContext(t.Context(), &amount, "SELECT amount FROM account WHERE id = 1"))
	if amount != 2 {
		t.Errorf("amount = %d, want the later holder's 2", amount)
	}
}

// Nobody comes in between the check of the fence and the commit.
func TestGuardHoldsUntilCommit(t *testing.T) {
	t.Parallel()
	db, key := labtest.DB(t), labtest.Name(t)
	account(t, db)
	l := mysqllock.NewRows(db)
	expired := take(t, l, key, time.Millisecond)
	time.Sleep(5 * time.Millisecond)
	var next sync.WaitGroup
	err := deposit(t.Context(), db, key, expired.Fence(), 1, func() {
		came := make(chan struct{})
		next.Go(func() {
			take(t, l, key, time.Minute)
			close(came)
		})
		select {
		case <-came:
			t.Error("the next holder came between check and change")
		case <-time.After(200 * time.Millisecond):
		}
	})
	fine(t, "deposit", err)
	next.Wait()
}

// A row that nobody has held for a day goes away, and the fence rises on.
func TestOldRowsGoAwayAndFencesRise(t *testing.T) {
	t.Parallel()
	db, key := labtest.DB(t), labtest.Name(t)
	l := mysqllock.NewRows(db)
	first := take(t, l, key, time.Minute)
	fine(t, "release", first.Release(t.Context()))
	held := take(t, l, key+"held", time.Minute)
	young := take(t, l, key+"young", time.Minute)
	fine(t, "release", young.Release(t.Context()))
	const age = "UPDATE locks SET expires_at = expires_at - INTERVAL 25 HOUR WHERE name = ?"
	_, err := db.ExecContext(t.Context(), age, key)
	fine(t, "age", err)
	count := func(key string) (n int) {
		fine(t, "count", db.GetContext(t.Context(), &n, "SELECT COUNT(*) FROM locks WHERE name = ?", key))
		return n
	}
	for i := 0; count(key) > 0; i++ {
		if i == 5000 { // one release in a hundred sweeps
			t.Fatal("the old row stays")
		}
		fine(t, "release", take(t, l, "other", time.Minute).Release(t.Context()))
	}
	if count(key+"young") != 1 || count(key+"held") != 1 {
		t.Error("a row went away before its time")
	}
	fine(t, "release", held.Release(t.Context()))
	if again := take(t, l, key, time.Minute); again.Fence() <= first.Fence() {
		t.Errorf("fence %d after %d, whose row has gone", again.Fence(), first.Fence())
	}
}

// The server's clock may step back; the fence does not.
func TestFenceRisesThoughTheClockSteps(t *testing.T) {
	t.Parallel()
	db, key := labtest.DB(t), labtest.Name(t)
	db.SetMaxOpenConns(1) // SET timestamp is the connection's
	l := mysqllock.NewRows(db)
	first := take(t, l, key, time.Minute)
	fine(t, "release", first.Release(t.Context()))
	_, err := db.ExecContext(t.Context(), "SET timestamp = UNIX_TIMESTAMP() - 3600")
	fine(t, "step", err)
	second := take(t, l, key, time.Minute)
	if second.Fence() != first.Fence()+1 {
		t.Errorf("fence %d after %d, with the clock an hour back", second.Fence(), first.Fence())
	}
}

// A database restored from a backup has old fences.
func TestFenceRisesAfterARestore(t *testing.T) {
	t.Parallel()
	db, key := labtest.DB(t), labtest.Name(t)
	l := mysqllock.NewRows(db)
	first := take(t, l, key, time.Minute)
	_, err := db.ExecContext(t.Context(), "UPDATE locks SET fence = 1, owner = ''")
	fine(t, "restore", err)
	if second := take(t, l, key, time.Minute); second.Fence() <= first.Fence() {
		t.Errorf("fence %d after %d", second.Fence(), first.Fence())
	}
}

// An end is an end, though nobody else has come.
func TestExpiredLeaseIsLost(t *testing.T) {
	t.Parallel()
	lease := take(t, mysqllock.NewRows(labtest.DB(t)), labtest.Name(t), time.Millisecond)
	time.Sleep(5 * time.Millisecond)
	lost(t, "extend", lease.Extend(t.Context(), time.Minute))
	lost(t, "release", lease.Release(t.Context()))
}

// Ends are the server's time, whatever the time zone of those who ask.
func TestTimeZonesAgree(t *testing.T) {
	t.Parallel()
	dsn, key := labtest.DSN(t), labtest.Name(t)
	home, abroad := labtest.Open(t, dsn), labtest.Open(t, dsn)
	abroad.SetMaxOpenConns(1)
	for _, zone := range []string{"+13:00", "-11:00"} {
		_, err := abroad.ExecContext(t.Context(), "SET time_zone = ?", zone)
		fine(t, "set time zone", err)
		for _, dbs := range [][2]*sqlx.DB{{home, abroad}, {abroad, home}} {
			key += "x"
			take(t, mysqllock.NewRows(dbs[0]), key, time.Minute)
			if _, err := mysqllock.NewRows(dbs[1]).TryLock(t.Context(), key, time.Minute); !errors.Is(err, lock.ErrLocked) {
				t.Errorf("TryLock from another time zone (%s): %v, want ErrLocked", zone, err)
			}
		}
	}
}

// What a paused server had not yet read, it still runs when it goes on.
func TestPausedServerGrantsNothingLater(t *testing.T) {
	t.Parallel()
	server := labtest.MySQL(t)
	db := labtest.Open(t, labtest.EmptyDatabase(t, server))
	fine(t, "migrate", migrations.Up(t.Context(), db.DB))
	l, key := mysqllock.NewRows(db), labtest.Name(t)
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.TryLock(ctx, key, time.Minute); err == nil || errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock of a paused server: %v, want an unknown outcome", err)
	}
	time.Sleep(2500 * time.Millisecond) // an order to let go would have been given up by now
	server.Resume()
	time.Sleep(100 * time.Millisecond)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := l.TryLock(t.Context(), key, time.Minute); err == nil {
			return
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func TestDeadServerIsUnknown(t *testing.T) {
	t.Parallel()
	server := labtest.MySQL(t)
	db := labtest.Open(t, labtest.EmptyDatabase(t, server))
	fine(t, "migrate", migrations.Up(t.Context(), db.DB))
	l, key := mysqllock.NewRows(db), labtest.Name(t)
	lease := take(t, l, key, time.Minute)
	server.Kill()
	if _, err := l.TryLock(t.Context(), key, time.Minute); err == nil || errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock without a server: %v, want an unknown outcome", err)
	}
	if err := lease.Extend(t.Context(), time.Minute); err == nil || errors.Is(err, lock.ErrLost) {
		t.Errorf("Extend without a server: %v, want an unknown outcome", err)
	}
	fine(t, "restart", server.Restart())
	fine(t, "release after a restart", lease.Release(t.Context()))
}
