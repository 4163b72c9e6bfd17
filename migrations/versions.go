package migrations

import (
	"context"
	"database/sql"

	"github.com/golang-migrate/migrate/v4/database"
)

// versions is golang-migrate's driver, except that it stores versions in transactions
// of the connection's isolation level. Golang-migrate's are SERIALIZABLE, which a
// multi-primary group of MySQL refuses (error 3098). The lock of this package makes
// that level unnecessary.
type versions struct {
	database.Driver
	conn *sql.Conn
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
	if _, err := tx.ExecContext(ctx, `DELETE FROM schema_migrations`); err != nil {
		return err
	}
	if version != database.NilVersion || dirty {
		const q = `INSERT INTO schema_migrations (version, dirty) VALUES (?, ?)`
		if _, err := tx.ExecContext(ctx, q, version, dirty); err != nil {
			return err
		}
	}
	return tx.Commit()
}
