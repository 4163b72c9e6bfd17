package mysqllock_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/mysqllock"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.GaleraLibrary) }

var rowsPromises = locktest.Promises{Exclusive: true, Expires: true, Fences: true, Tells: true,
	Tick: 10 * time.Millisecond}

func TestRowsConformance(t *testing.T) {
	t.Parallel()
	dsn := labtest.DSN(t)
	locktest.Run(t, rowsPromises, func(tb testing.TB) lock.Locker { return mysqllock.NewRows(labtest.Open(tb, dsn)) })
}

func TestNamedConformance(t *testing.T) {
	t.Parallel()
	dsn := labtest.DSN(t)
	promises := locktest.Promises{Exclusive: true, Tick: 10 * time.Millisecond}
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return open(tb, dsn) })
}

func open(tb testing.TB, dsn string) *mysqllock.Named {
	tb.Helper()
	l, err := mysqllock.OpenNamed(dsn, 16)
	check.NoError(tb, err)
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// guard calls Guard in a transaction, and changes in it if Guard accepts the fence.
func guard(t *testing.T, db *sqlx.DB, key string, fence uint64, change func()) error {
	t.Helper()
	tx, err := db.BeginTxx(t.Context(), nil)
	check.NoError(t, err)
	defer tx.Rollback()
	if err := mysqllock.Guard(t.Context(), tx, key, fence); err != nil {
		return err
	}
	change()
	return tx.Commit()
}

// The lock cannot be acquired between Guard and the commit. After that its expired holder,
// who was paused, changes nothing any more.
func TestPausedHolderCannotOverwrite(t *testing.T) {
	t.Parallel()
	db, key := labtest.DB(t), labtest.Name(t)
	l := mysqllock.NewRows(db)
	expired := locktest.MustTryLock(t, l, key, time.Millisecond) // without its holder's notice
	time.Sleep(5 * time.Millisecond)
	acquired := make(chan lock.Lease, 1)
	err := guard(t, db, key, expired.Fence(), func() {
		go func() { acquired <- locktest.MustTryLock(t, l, key, time.Minute) }()
		select {
		case <-acquired:
			t.Error("the next holder acquired the lock between Guard and the commit")
		case <-time.After(200 * time.Millisecond):
		}
	})
	check.NoError(t, err)
	next := check.Receive(t, "the next holder's lease", acquired)
	check.NoError(t, guard(t, db, key, next.Fence(), func() {}))
	err = guard(t, db, key, expired.Fence(), func() { t.Error("a paused holder changes data") })
	check.ErrorIs(t, err, lock.ErrLost)
}

func TestOldRowsAreDeletedAndTheFenceStillRises(t *testing.T) {
	t.Parallel()
	db, key := labtest.DB(t), labtest.Name(t)
	l := mysqllock.NewRows(db)
	first := locktest.MustTryLock(t, l, key, time.Minute)
	check.NoError(t, first.Release(t.Context()))
	held := locktest.MustTryLock(t, l, key+"held", time.Minute)
	young := locktest.MustTryLock(t, l, key+"young", time.Minute)
	check.NoError(t, young.Release(t.Context()))
	const age = "UPDATE locks SET expires_at = expires_at - INTERVAL 25 HOUR WHERE name = ?"
	_, err := db.ExecContext(t.Context(), age, key)
	check.NoError(t, err)
	count := func(key string) (n int) {
		check.NoError(t, db.GetContext(t.Context(), &n, "SELECT COUNT(*) FROM locks WHERE name = ?", key))
		return n
	}
	for i := 0; count(key) > 0; i++ {
		if i == 5000 { // on average one release in a hundred sweeps
			t.Fatal("the old row was not deleted")
		}
		check.NoError(t, locktest.MustTryLock(t, l, "other", time.Minute).Release(t.Context()))
	}
	if count(key+"young") != 1 || count(key+"held") != 1 {
		t.Error("a row that was held less than a day ago was deleted")
	}
	check.NoError(t, held.Release(t.Context()))
	if again := locktest.MustTryLock(t, l, key, time.Minute); again.Fence() <= first.Fence() {
		t.Errorf("fence %d after %d and the deletion of the row, want a higher one", again.Fence(), first.Fence())
	}
}

func TestFenceRisesWhenTheClockStepsBack(t *testing.T) {
	t.Parallel()
	db, key := labtest.DB(t), labtest.Name(t)
	db.SetMaxOpenConns(1) // SET timestamp affects one connection
	l := mysqllock.NewRows(db)
	first := locktest.MustTryLock(t, l, key, time.Minute)
	check.NoError(t, first.Release(t.Context()))
	_, err := db.ExecContext(t.Context(), "SET timestamp = UNIX_TIMESTAMP() - 3600")
	check.NoError(t, err)
	second := locktest.MustTryLock(t, l, key, time.Minute)
	if second.Fence() != first.Fence()+1 {
		t.Errorf("fence %d after %d, with the clock an hour back, want one more", second.Fence(), first.Fence())
	}
}

// A database that was restored from a backup has old fences.
func TestFenceRisesAfterARestore(t *testing.T) {
	t.Parallel()
	db, key := labtest.DB(t), labtest.Name(t)
	l := mysqllock.NewRows(db)
	first := locktest.MustTryLock(t, l, key, time.Minute)
	_, err := db.ExecContext(t.Context(), "UPDATE locks SET fence = 1, owner = ''")
	check.NoError(t, err)
	if second := locktest.MustTryLock(t, l, key, time.Minute); second.Fence() <= first.Fence() {
		t.Errorf("fence %d after %d, want a higher one", second.Fence(), first.Fence())
	}
}

// An expired lease is lost even if the key has not been acquired since.
func TestExpiredLeaseIsLost(t *testing.T) {
	t.Parallel()
	l, key := mysqllock.NewRows(labtest.DB(t)), labtest.Name(t)
	extended := locktest.MustTryLock(t, l, key, time.Millisecond)
	released := locktest.MustTryLock(t, l, key+"x", time.Millisecond)
	time.Sleep(5 * time.Millisecond)
	check.ErrorIs(t, extended.Extend(t.Context(), time.Minute), lock.ErrLost)
	check.ErrorIs(t, released.Release(t.Context()), lock.ErrLost)
}

// The expiry is stored in UTC, whatever the time zones of the connections.
func TestExpiryIsIndependentOfTheTimeZone(t *testing.T) {
	t.Parallel()
	dsn, key := labtest.DSN(t), labtest.Name(t)
	local, remote := labtest.Open(t, dsn), labtest.Open(t, dsn)
	remote.SetMaxOpenConns(1)
	for _, zone := range []string{"+13:00", "-11:00"} {
		_, err := remote.ExecContext(t.Context(), "SET time_zone = ?", zone)
		check.NoError(t, err)
		for _, dbs := range [][2]*sqlx.DB{{local, remote}, {remote, local}} {
			key += "x"
			locktest.MustTryLock(t, mysqllock.NewRows(dbs[0]), key, time.Minute)
			if _, err := mysqllock.NewRows(dbs[1]).TryLock(t.Context(), key, time.Minute); !errors.Is(err,
				lock.ErrLocked) {
				t.Errorf("TryLock from another time zone (%s): %v, want ErrLocked", zone, err)
			}
		}
	}
}

// Each client is connected to the other node than the client before. With
// wsrep_sync_wait a statement sees what the other node has committed before;
// without it, a released key may be refused for a moment.
func TestRowsConformanceOnTwoGaleraNodes(t *testing.T) {
	t.Parallel()
	g := labtest.Group(t, lab.Galera, 2)
	dsn := labtest.EmptyDatabase(t, g.Members[0])
	labtest.Migrate(t, labtest.Open(t, dsn))
	name := strings.TrimPrefix(dsn, g.Members[0].DSN(""))
	var clients atomic.Int64
	locktest.Run(t, rowsPromises, func(tb testing.TB) lock.Locker {
		node := g.Members[clients.Add(1)%2]
		return mysqllock.NewRows(labtest.Open(tb, node.DSN(name)+"?wsrep_sync_wait=7"))
	})
}
