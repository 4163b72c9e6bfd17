// Package transaction runs transactions on MySQL, each of whose statements has a
// deadline, and tells which errors prove that nothing is committed.
package transaction

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// ErrUnknown marks an error that leaves open whether a transaction is committed:
// its reply was lost, or a proxy lost it.
var ErrUnknown = errors.New("commit outcome unknown")

// Run runs work in a transaction and commits if it returns nil. Unless the
// error wraps ErrUnknown, the transaction is not committed and never will be.
//
// COMMIT and ROLLBACK are statements under ctx. The methods of sql.Tx have no
// deadline: they would wait for a silent server until TCP gives up.
func Run(ctx context.Context, db *sqlx.DB, work func(conn *sqlx.Conn) error) error {
	conn, err := db.Connx(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `START TRANSACTION`); err != nil {
		Discard(conn)
		return fmt.Errorf("begin: %w", err)
	}
	if err := work(conn); err != nil {
		RollBack(ctx, conn)
		return err
	}
	return Commit(ctx, conn)
}

// RunRetrying is Run, again after each conflict: see Retry.
func RunRetrying(ctx context.Context, db *sqlx.DB, work func(conn *sqlx.Conn) error) error {
	return Retry(ctx, func() error { return Run(ctx, db, work) })
}

// Commit commits the open transaction of conn. Unless the error wraps ErrUnknown,
// the transaction is not committed and never will be.
func Commit(ctx context.Context, conn *sqlx.Conn) error {
	_, err := conn.ExecContext(ctx, `COMMIT`)
	if err == nil {
		return nil
	}
	Discard(conn)
	if IsRefusal(err) {
		return fmt.Errorf("commit refused: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// RollBack ends the open transaction of conn. If it cannot, the server rolls
// back when it notices that the connection is closed.
func RollBack(ctx context.Context, conn *sqlx.Conn) {
	if _, err := conn.ExecContext(ctx, `ROLLBACK`); err != nil {
		Discard(conn)
	}
}

// Discard closes a connection of package sql or sqlx instead of returning it to the pool.
func Discard(conn interface{ Raw(func(any) error) error }) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}
