package migrations

import (
	"context"
	"database/sql"
	"errors"
	"io"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/mysql"

	"example.com/flashsale/internal/transaction"
)

// versionTable holds the version of the schema. Other programs that use golang-migrate
// have theirs in sharedTable, its default, as binaries up to version lastShared of the
// schema have.
const (
	versionTable = "flashsale_migrations"
	sharedTable  = "schema_migrations"
	lastShared   = 6
)

// versions is golang-migrate's driver, except that it stores versions in transactions
// of the connection's isolation level. Golang-migrate's are SERIALIZABLE, which a
// multi-primary group of MySQL refuses (error 3098). The lock of this package makes
// that level unnecessary.
type versions struct {
	database.Driver
	conn   *sql.Conn
	tables []string // that hold the version
}

// openVersions makes versionTable. If sharedTable is the service's as well, it takes
// over what an older binary has written there.
func openVersions(ctx context.Context, conn *sql.Conn, adopted bool) (versions, error) {
	// Golang-migrate's own statement lacks IF NOT EXISTS: of two primaries of a replication group
	// that execute it at once, both leave the group.
	const create = `CREATE TABLE IF NOT EXISTS ` + versionTable + ` (
		version BIGINT NOT NULL PRIMARY KEY,
		dirty   BOOLEAN NOT NULL
	)`
	if _, err := conn.ExecContext(ctx, create); err != nil {
		return versions{}, err
	}
	// Unlike WithInstance, WithConnection does not close the pool.
	driver, err := mysql.WithConnection(ctx, conn, &mysql.Config{MigrationsTable: versionTable})
	v := versions{driver, conn, []string{versionTable}}
	if err != nil || !adopted {
		return v, err
	}
	v.tables = append(v.tables, sharedTable)
	version, dirty, err := stored(ctx, conn, versionTable)
	older, olderDirty, err2 := stored(ctx, conn, sharedTable)
	err = errors.Join(err, err2)
	if err != nil || older > lastShared || older == version && olderDirty == dirty {
		return v, err
	}
	return v, v.SetVersion(older, olderDirty)
}

// Run executes a migration. A column that exists was added by the same statement before a
// crash: MySQL has no ADD COLUMN IF NOT EXISTS, and the statement adds all columns or none.
func (v versions) Run(migration io.Reader) error {
	err := v.Driver.Run(migration)
	if transaction.HasNumber(withCause(err), transaction.DuplicateColumn) {
		return nil
	}
	return err
}

// SetVersion replaces the stored version. Without a migration none is stored, unless
// the first one is dirty.
func (v versions) SetVersion(version int, dirty bool) error {
	ctx := context.Background()
	tx, err := v.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	for _, table := range v.tables {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+table); err != nil {
			return err
		}
		if version == database.NilVersion && !dirty {
			continue
		}
		q := `INSERT INTO ` + table + ` (version, dirty) VALUES (?, ?)`
		if _, err := tx.ExecContext(ctx, q, version, dirty); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// adoption is the version whose mark says that sharedTable is the service's.
const adoption = 0

// adopt reports whether sharedTable is the service's, so that older binaries learn from
// it that the schema is newer. That is decided before versionTable exists, and never
// again. Where it is not, all migrations run again, which changes nothing.
func adopt(ctx context.Context, conn *sql.Conn, own description) (bool, error) {
	const (
		shape = `SELECT COUNT(*) FROM information_schema.columns
			WHERE table_schema = DATABASE() AND table_name = '` + sharedTable + `' AND (column_name = 'version'
				AND data_type = 'bigint' OR column_name = 'dirty' AND data_type = 'tinyint')`
		decision = `SELECT COUNT(*) FROM schema_compatibility WHERE version = ?`
	)
	columns, err := number(ctx, conn, shape)
	if err != nil || columns != 2 {
		return false, err
	}
	if decided, err := isDecided(ctx, conn); err != nil || decided {
		n, err2 := number(ctx, conn, decision, adoption)
		return n > 0, errors.Join(err, err2)
	}
	if proved, err := isOwn(ctx, conn, own); err != nil || !proved {
		return false, err
	}
	return true, markAs(ctx, conn, adoption, adoption)
}

func isDecided(ctx context.Context, conn *sql.Conn) (bool, error) {
	const q = `SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?`
	n, err := number(ctx, conn, q, versionTable)
	return n > 0, err
}

// isOwn reports whether the version in sharedTable is of this schema: a binary has
// marked it or a later one, and its tables exist.
func isOwn(ctx context.Context, conn *sql.Conn, own description) (bool, error) {
	version, dirty, err := stored(ctx, conn, sharedTable)
	if err != nil || version < 1 || version > lastShared {
		return false, err
	}
	marks, err := number(ctx, conn, `SELECT COUNT(*) FROM schema_compatibility WHERE version >= ?`, version)
	if dirty {
		version--
	}
	for _, t := range tables[:version] {
		if !own.has(t.name) {
			return false, err
		}
	}
	return marks > 0, err
}

// stored returns the version that a table of golang-migrate holds.
func stored(ctx context.Context, conn *sql.Conn, table string) (version int, dirty bool, err error) {
	err = conn.QueryRowContext(ctx, `SELECT version, dirty FROM `+table+` LIMIT 1`).Scan(&version, &dirty)
	if errors.Is(err, sql.ErrNoRows) {
		return database.NilVersion, false, nil
	}
	return version, dirty, err
}
