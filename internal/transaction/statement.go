package transaction

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// A Statement is one of SQL with its arguments, or several. The zero Statement is none.
type Statement struct {
	SQL  string
	Args []any
}

// Then returns s followed by next.
func (s Statement) Then(next Statement) Statement {
	if next.SQL == "" {
		return s
	}
	return Statement{s.SQL + `; ` + next.SQL, append(s.Args, next.Args...)}
}

// Exec executes s, and returns how many rows it has changed. An error says what was tried.
func (s Statement) Exec(ctx context.Context, db sqlx.ExecerContext, what string) (changed int, err error) {
	if s.SQL == "" {
		return 0, nil
	}
	result, err := db.ExecContext(ctx, s.SQL, s.Args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}
