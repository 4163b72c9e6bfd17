package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"example.com/flashsale/internal/transaction"
)

// oldest is the oldest version whose binaries work with the newest version of the
// schema. A migration that older binaries do not work with, because it drops or
// renames something or adds what they must fill or a unique key to a table of theirs,
// raises oldest to its own version.
const oldest = 1

// ErrTooNew says that a newer binary has migrated the database, and has not
// marked its schema as compatible with this one.
var ErrTooNew = errors.New("the schema is newer than this binary, and not marked compatible with it")

// Newer returns the version of the schema of db if it is newer than this binary,
// and 0 if it is not. The error wraps ErrTooNew unless the binary that migrated db
// has marked the schema as compatible with this one.
func Newer(ctx context.Context, db *sql.DB) (int, error) {
	version, err := newer(ctx, db)
	if err != nil {
		return 0, fmt.Errorf("migrations: %w", err)
	}
	return version, nil
}

func newer(ctx context.Context, db querier) (int, error) {
	version, err := number(ctx, db, `SELECT version FROM `+versionTable+` LIMIT 1`)
	if err != nil || version <= newest {
		return 0, err
	}
	// What works with a version works with those before it.
	marked, err := number(ctx, db, `SELECT oldest FROM schema_compatibility WHERE version >= ? ORDER BY version LIMIT 1`,
		version)
	if err != nil {
		return 0, err
	}
	if marked == 0 || marked > newest {
		return 0, fmt.Errorf("%w: it has version %d, this binary %d", ErrTooNew, version, newest)
	}
	return version, nil
}

// newest is the version of the newest migration: they are numbered from 1 without gaps.
var newest = func() int {
	up, _ := fs.Glob(files, "*.up.sql") // the only error is one of the pattern
	return len(up)
}()

// mark records which binaries work with the newest schema. It must precede the
// migrations, so that a binary that does not is refused from the first of them on. A mark
// is never lowered. A database without orders has had no older binary.
func mark(ctx context.Context, conn *sql.Conn, tables description) error {
	marked, err := number(ctx, conn, `SELECT oldest FROM schema_compatibility WHERE version = ?`, newest)
	if err != nil || marked > 0 {
		return err
	}
	before, err := number(ctx, conn, `SELECT COALESCE(MAX(oldest), 0) FROM schema_compatibility`)
	if err != nil {
		return err
	}
	if !tables.has("coupon_orders") {
		before = newest
	}
	return markAs(ctx, conn, newest, max(before, oldest))
}

// rules is the version from which on binaries know the rules of coupons. An older one
// would sell units of such a coupon without their rules, and lose some that came back.
const rules = 13

// AllowRules makes coupons with rules possible, and keeps binaries that do not know them
// from starting. Call it when none of those is running.
func AllowRules(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("migrations: connect: %w", err)
	}
	defer transaction.Discard(conn)
	if err = lock(ctx, conn); err == nil {
		err = markAs(ctx, conn, newest, rules)
	}
	if err != nil {
		return fmt.Errorf("migrations: allow rules: %w", err)
	}
	return nil
}

func markAs(ctx context.Context, conn *sql.Conn, version, oldest int) error {
	const create = `CREATE TABLE IF NOT EXISTS schema_compatibility (
		version BIGINT NOT NULL,
		oldest  BIGINT NOT NULL,
		PRIMARY KEY (version)
	) ENGINE = InnoDB`
	if _, err := conn.ExecContext(ctx, create); err != nil {
		return err
	}
	const q = `INSERT INTO schema_compatibility (version, oldest) VALUES (?, ?)
		ON DUPLICATE KEY UPDATE oldest = GREATEST(oldest, ?)`
	_, err := conn.ExecContext(ctx, q, version, oldest, oldest)
	return err
}

type querier interface {
	QueryRowContext(ctx context.Context, q string, args ...any) *sql.Row
}

// number returns the number that q selects, or 0 if there is no row or no table.
func number(ctx context.Context, db querier, q string, args ...any) (n int, err error) {
	err = db.QueryRowContext(ctx, q, args...).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) || transaction.HasNumber(err, transaction.NoSuchTable) {
		return 0, nil
	}
	return n, err
}
