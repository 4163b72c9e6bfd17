package transaction

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// CheckWritable returns the server's error if it refuses one of statements: it is
// read-only, belongs to no majority, cannot log the statement, or the account lacks a
// right, which the error tells how to give. The statements must find no row, so that they
// lock, log and replicate nothing.
//
// After an error it closes the connection: another one may lead to a server that
// accepts writes.
func CheckWritable(ctx context.Context, db *sqlx.DB, statements ...string) error {
	conn, err := db.Connx(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()
	defer RollBack(ctx, conn) // on several shards of Vitess each commit of nothing would write on all
	for _, statement := range append([]string{`START TRANSACTION`}, statements...) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			defer Discard(conn)
			return fmt.Errorf("write: %w%s", err, missingGrant(ctx, conn, err))
		}
	}
	return nil
}

// missingGrant returns the statement with which an administrator gives the account what
// it needs, if err says that it lacks a right.
func missingGrant(ctx context.Context, conn *sqlx.Conn, err error) (grant string) {
	if !HasNumber(err, DatabaseDenied, TableDenied, ColumnDenied, PrivilegeDenied) {
		return ""
	}
	const q = "SELECT CONCAT('; an administrator can: GRANT SELECT, INSERT, UPDATE, DELETE ON `', DATABASE(), '`.* TO ', " +
		"QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', 1)), '@', QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)))"
	_ = conn.GetContext(ctx, &grant, q) // without it, the server's words are enough
	return grant
}
