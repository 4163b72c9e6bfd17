package migrations

import (
	"context"
	"database/sql"
	"io"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/mysql"

	"example.com/flashsale/internal/transaction"
)

// versionTable holds the version of the schema. Golang-migrate's default,
// schema_migrations, may be another program's.
const versionTable = "flashsale_migrations"

// versions is golang-migrate's driver, except that it stores versions in transactions
// of the connection's isolation level. Golang-migrate's are SERIALIZABLE, which a
// multi-primary group of MySQL refuses (error 3098). The lock of this package makes
// that level unnecessary.
type versions struct {
	database.Driver
	conn *sql.Conn
}

// openVersions makes versionTable.
func openVersions(ctx context.Context, conn *sql.Conn) (versions, error) {
	// Golang-migrate's own statement lacks IF NOT EXISTS: of two primaries of a replication group
	// that execute it at once, both leave the group.
	const create = `CREATE TABLE IF NOT EXISTS ` + versionTable + ` (
		version BIGINT NOT NULL PRIMARY KEY,
		dirty   BOOLEAN NOT NULL
	) ENGINE = InnoDB`
	if _, err := conn.ExecContext(ctx, create); err != nil {
		return versions{}, err
	}
	// Unlike WithInstance, WithConnection does not close the pool.
	driver, err := mysql.WithConnection(ctx, conn, &mysql.Config{MigrationsTable: versionTable, NoLock: true})
	return versions{driver, conn}, err
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
	if _, err := tx.ExecContext(ctx, `DELETE FROM `+versionTable); err != nil {
		return err
	}
	if version != database.NilVersion || dirty {
		const q = `INSERT INTO ` + versionTable + ` (version, dirty) VALUES (?, ?)`
		if _, err := tx.ExecContext(ctx, q, version, dirty); err != nil {
			return err
		}
	}
	return tx.Commit()
}
