package migrations_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/migrations"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.GaleraLibrary) }

// A crash leaves a version dirty, with its migration applied or not: Up and
// Down leave the same states behind.
func TestInterruptedMigrationIsRepeated(t *testing.T) {
	t.Parallel()
	tables := []string{"coupons", "coupon_orders", "locks", "coupon_changes", "coupon_segments",
		"coupon_updates", "coupon_change_keys"}
	for _, version := range []int{-1, 1, 2, 3, 4, 5, 6, 7} { // -1 is what reverting the first leaves
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("version %d, applied %t", version, applied), func(t *testing.T) {
				t.Parallel()
				db := labtest.DB(t)
				for i, table := range tables {
					if last := max(version, 1) - 1; i > last || i == last && !applied {
						db.MustExec("DROP TABLE " + table)
					}
				}
				db.MustExec("UPDATE flashsale_migrations SET version = ?, dirty = TRUE", version)
				mustUp(t, db)
				for _, table := range tables {
					if _, err := db.Exec("SELECT 1 FROM " + table); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// Whichever migration was interrupted, while it was applied or reverted.
func TestDownRevertsAnInterruptedMigration(t *testing.T) {
	t.Parallel()
	for _, version := range []int{-1, 1, 7} {
		db := labtest.DB(t)
		db.MustExec("UPDATE flashsale_migrations SET version = ?, dirty = TRUE", version)
		mustDown(t, db)
		if left := tableNames(t, db); len(left) != 2 {
			t.Errorf("interrupted at version %d: %v are left", version, left)
		}
	}
}

// The other process needs longer than a question for the lock waits, which is a second.
func TestUpWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	db := emptyDatabase(t)
	execute := elsewhere(t, db)
	execute(`DO GET_LOCK(SHA2(CONCAT('migrations of ', DATABASE()), 256), 0)`)
	done := check.Begin(func() error { return migrations.Up(context.Background(), db.DB) })
	select {
	case err := <-done:
		t.Fatalf("Up returned while another process migrated: %v", err)
	case <-time.After(2500 * time.Millisecond):
	}
	execute(`DO RELEASE_ALL_LOCKS()`)
	check.NoError(t, <-done)
}

// Percona XtraDB Cluster refuses named locks in its default mode.
func TestUpNeedsNoNamedLock(t *testing.T) {
	t.Parallel()
	proxy, dsn := labtest.ProxiedMySQL(t, labtest.EmptyDatabase(t, labtest.SharedMySQL(t)))
	for range 100 {
		proxy.Refuse("GET_LOCK", faultproxy.MySQLError(1105,
			"Percona-XtraDB-Cluster prohibits use of GET_LOCK with pxc_strict_mode = ENFORCING"))
	}
	mustUp(t, labtest.Open(t, dsn))
}

// A process on another node has other named locks: it may begin a migration at any
// time.
func TestUpGoesOnAfterAMigrationOfAnotherNode(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	ctx, stop := context.WithCancel(t.Context())
	var other sync.WaitGroup
	other.Go(func() {
		for ctx.Err() == nil {
			_, _ = db.Exec("UPDATE flashsale_migrations SET dirty = TRUE") // may conflict
			_, _ = db.Exec("UPDATE flashsale_migrations SET dirty = FALSE")
		}
	})
	for range 2 {
		if err := migrations.Up(t.Context(), db.DB); err != nil {
			t.Error(err)
		}
	}
	stop()
	other.Wait()
	mustUp(t, db)
}

func TestUpEndsWithItsContext(t *testing.T) {
	t.Parallel()
	db := emptyDatabase(t)
	elsewhere(t, db)(`DO GET_LOCK(SHA2(CONCAT('migrations of ', DATABASE()), 256), 0)`)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := migrations.Up(ctx, db.DB); err == nil {
		t.Error("Up returned nil although it never had the lock")
	}
}

// newestTable is what the newest migration alters.
const newestTable = "coupon_transfers"

// The table is locked for longer than a connection for migrations waits for a
// reply.
func TestUpRepeatsAMigrationThatTakesLongerThanAConnectionWaits(t *testing.T) {
	t.Parallel()
	dsn := labtest.DSN(t)
	db := labtest.Open(t, dsn)
	db.MustExec("UPDATE flashsale_migrations SET dirty = TRUE")
	execute := elsewhere(t, db)
	execute("LOCK TABLES " + newestTable + " WRITE")
	cfg, err := mysql.ParseDSN(dsn)
	check.NoError(t, err)
	cfg.ReadTimeout = 2 * time.Second
	impatient, err := connect.MySQL(cfg.FormatDSN(), 1, connect.ForMigrations)
	check.NoError(t, err)
	defer impatient.Close()
	begin := time.Now()
	time.AfterFunc(2*cfg.ReadTimeout, func() { execute("UNLOCK TABLES") })
	check.NoError(t, migrations.Up(t.Context(), impatient.DB))
	if took := time.Since(begin); took < 2*cfg.ReadTimeout {
		t.Errorf("it took %s: the migration has not waited for the table", took)
	}
}

// elsewhere returns what executes statements on a connection of its own, and fails the test if one fails.
func elsewhere(t *testing.T, db *sqlx.DB) (execute func(statement string)) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	check.NoError(t, err)
	return func(statement string) {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Error(err)
		}
	}
}

func emptyDatabase(t *testing.T) *sqlx.DB {
	t.Helper()
	return labtest.Open(t, labtest.EmptyDatabase(t, labtest.SharedMySQL(t)))
}

func mustUp(t *testing.T, db *sqlx.DB) {
	t.Helper()
	check.NoError(t, migrations.Up(t.Context(), db.DB))
}

func TestEveryTableHasTransactionsWhateverTheServersDefaultIs(t *testing.T) {
	t.Parallel()
	db := labtest.Open(t, labtest.EmptyDatabase(t, labtest.SharedMySQL(t))+"?default_storage_engine=MyISAM")
	mustUp(t, db)
	if others := texts(t, db, `SELECT table_name, engine, '' FROM information_schema.tables
		WHERE table_schema = DATABASE() AND engine <> 'InnoDB'`); len(others) > 0 {
		t.Error(others)
	}
}

// So does HAProxy before a cluster whose first node copies its data to the others.
func TestUpOutlastsAProxyThatClosesConnections(t *testing.T) {
	t.Parallel()
	dsn := labtest.EmptyDatabase(t, labtest.SharedMySQL(t))
	cfg, err := mysql.ParseDSN(dsn)
	check.NoError(t, err)
	server := cfg.Addr
	proxy, err := faultproxy.New(server + ".none")
	check.NoError(t, err)
	t.Cleanup(func() { _ = proxy.Close() })
	cfg.Net, cfg.Addr = "tcp", proxy.Addr()
	db, err := connect.MySQL(cfg.FormatDSN(), 1, connect.ForMigrations)
	check.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	time.AfterFunc(3*time.Second, func() { proxy.Retarget(server) })
	mustUp(t, db)
}
