package mysqllock

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/transaction"
)

// A statement is one that has the effect of one, however often it is executed.
type statement struct {
	query string
	args  []any
	sent  int // how many executions have begun and may have changed something
}

// maxSent bounds the repetitions of a statement whose replies are lost.
const maxSent = 4

// execute executes the statement, and again while its reply is lost, or the
// server says that it has changed nothing because of a conflict. In a Galera
// cluster that is frequent: another node has changed the row. The end of wait ends
// the wait for a connection, the end of ctx also the statement.
func (s *statement) execute(wait, ctx context.Context, db *sqlx.DB) (sql.Result, error) {
	for {
		conn, err := db.Connx(wait)
		if err != nil {
			return nil, err
		}
		s.sent++
		result, err := conn.ExecContext(ctx, s.query, s.args...)
		_ = conn.Close()
		switch {
		case isConflict(err) && ctx.Err() == nil:
			s.sent--
		case !isLost(err) || ctx.Err() != nil || s.sent == maxSent:
			return result, err
		}
		time.Sleep(rand.N(5 * time.Millisecond))
	}
}

// update executes the statement, and reports whether it has matched a row.
func (s *statement) update(ctx context.Context, db *sqlx.DB) (found bool, err error) {
	result, err := s.execute(ctx, ctx, db)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// isConflict reports whether the server has rolled the statement back to resolve
// a deadlock.
func isConflict(err error) bool {
	return transaction.HasNumber(err, transaction.Deadlock)
}

// isLost reports whether the connection has failed, so that the server may or may
// not have executed the statement.
func isLost(err error) bool {
	_, replied := errors.AsType[*mysql.MySQLError](err)
	return err != nil && !replied
}
