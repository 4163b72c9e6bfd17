// Package migrations embeds the schema, so that the service, the tests and the
// lab apply the same files.
//
// Each file holds one statement that can be repeated, such as CREATE TABLE IF
// NOT EXISTS. So a migration cannot be applied in part, the DSN needs no
// multiStatements, and after a crash the migration that was running is simply
// run again.
package migrations

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/source/iofs"

	"example.com/flashsale/internal/transaction"
)

//go:embed *.sql
var files embed.FS

// Up applies the missing migrations. It waits while another process migrates the
// database, and repeats a migration that a crash has interrupted. When ctx ends
// it returns after the running migration, with the cause of ctx.
//
// A migration whose connection is lost is repeated as well, when the server has
// completed it, for a minute. Open db with connect.ForMigrations: nothing else bounds the wait
// for a reply.
//
// A schema that is newer than this binary and marked as compatible with it remains
// as it is; otherwise the error wraps ErrTooNew. It wraps ErrForeign if the database has
// another program's table by the name of one of the service's, and then nothing is written.
//
// Processes on different nodes of a cluster do not wait for each other. A
// migration that fails because another node has run it is repeated, too. Let only one
// primary of a replication group migrate: of two that alter a table at once, both leave it.
func Up(ctx context.Context, db *sql.DB) error {
	return run(ctx, db, 1)
}

// Down reverts all migrations, like Up. All data is lost. It returns ErrForeign if there
// are tables but no record that this package has made them: after Up there is.
func Down(ctx context.Context, db *sql.DB) error {
	return run(ctx, db, -1)
}

// repeatFor is how long a migration is repeated. A proxy before a cluster that starts
// closes connections until the first nodes have their data.
const repeatFor = time.Minute

func run(ctx context.Context, db *sql.DB, step int) error {
	for end := time.Now().Add(repeatFor); ; {
		err := runOnce(ctx, db, step)
		if !isConflict(err) && !isLost(err) || time.Now().After(end) {
			return err
		}
		if ended := transaction.Pause(ctx, 50*time.Millisecond+rand.N(50*time.Millisecond)); ended != nil {
			return errors.Join(err, ended)
		}
	}
}

// isConflict reports whether err says that a process on another node of a cluster
// was faster, whose named locks are its own. A dirty version is that process's: one
// that a crash has left behind was repaired before.
func isConflict(err error) bool {
	if _, dirty := errors.AsType[migrate.ErrDirty](err); dirty {
		return true
	}
	return transaction.IsConflict(err) || transaction.HasNumber(err, transaction.TableExists, transaction.DuplicateKey)
}

// isLost reports whether err says that the connection was lost.
func isLost(err error) bool {
	return errors.Is(err, mysqldriver.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn)
}

func runOnce(ctx context.Context, db *sql.DB, step int) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("migrations: connect: %w", err)
	}
	defer transaction.Discard(conn) // which also ends its named locks
	if err := lock(ctx, conn); err != nil {
		return fmt.Errorf("migrations: wait for another process: %w", err)
	}
	if err := migrateLocked(ctx, conn, step); err != nil {
		return fmt.Errorf("migrations: %w", withCause(err))
	}
	return nil
}

// lock waits until this connection alone may migrate the database. Golang-migrate's own
// lock, for which it waits for 10 seconds only, is not held while a dirty version is repaired.
//
// Percona XtraDB Cluster forbids named locks unless its strict mode is changed. There all
// processes are like those on different nodes of a cluster.
func lock(ctx context.Context, conn *sql.Conn) error {
	const q = `SELECT GET_LOCK(SHA2(CONCAT('migrations of ', DATABASE()), 256), 1)` // vtgate has it in no expression
	for locked := (sql.NullBool{}); !locked.Bool; {
		err := conn.QueryRowContext(ctx, q).Scan(&locked)
		if err != nil && strings.Contains(err.Error(), "prohibits use of GET_LOCK") {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// migrateLocked migrates a schema that is this binary's to migrate.
func migrateLocked(ctx context.Context, conn *sql.Conn, step int) error {
	own, err := ownTables(ctx, conn)
	if err != nil {
		return err
	}
	switch version, err := newer(ctx, conn); {
	case err != nil:
		return err
	case version > 0 && step < 0:
		return fmt.Errorf("only the binary that made version %d of the schema can revert it", version)
	case version > 0:
		return nil
	}
	if step < 0 {
		if err := refuseDown(ctx, conn, own); err != nil {
			return err
		}
	}
	target, err := openVersions(ctx, conn)
	if err != nil {
		return err
	}
	if err := mark(ctx, conn, own); err != nil {
		return err
	}
	return apply(ctx, target, step)
}

// apply applies one migration after the other. Golang-migrate's own way to stop between
// two (GracefulStop) is a data race in version 4.20.
func apply(ctx context.Context, target database.Driver, step int) error {
	source, err := iofs.New(files, ".")
	if err != nil {
		return err
	}
	m, err := migrate.NewWithInstance("embed", source, "mysql", target)
	if err != nil {
		return err
	}
	if err := repair(m, step); err != nil {
		return err
	}
	for err = nil; err == nil; err = m.Steps(step) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	// None is left. A version that the binary lacks is an error that wraps this one.
	if err == fs.ErrNotExist { //nolint:errorlint // see above
		return nil
	}
	return err
}

// repair marks the version before an interrupted migration as the current one.
// The migration is then run again. To go down, all are reverted again after an
// interruption, which does nothing where they were.
func repair(m *migrate.Migrate, step int) error {
	version, dirty, err := m.Version()
	unversioned := errors.Is(err, migrate.ErrNilVersion) // perhaps dirty: Version does not tell
	switch {
	case step < 0 && (dirty || unversioned):
		return m.Force(newest)
	case unversioned, dirty && version == 1:
		return m.Force(database.NilVersion)
	case err == nil && dirty:
		return m.Force(int(version) - 1)
	}
	return err
}

// withCause joins the cause of a golang-migrate error, which it does not unwrap.
func withCause(err error) error {
	if e, ok := errors.AsType[*database.Error](err); ok {
		return errors.Join(err, e.OrigErr)
	}
	if e, ok := errors.AsType[database.Error](err); ok {
		return errors.Join(err, e.OrigErr)
	}
	return err
}
