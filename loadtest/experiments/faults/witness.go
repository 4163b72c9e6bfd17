package faults

import (
	"context"
	"database/sql"
	"slices"
	"sync"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/holder"
)

// A witness is a table of MySQL that refuses a smaller fence than it has seen, as a
// resource does that a fence protects. Its server starts with the first trial that needs
// it, and serves the whole run.
type witness struct {
	open func() (*sql.DB, error)
}

func newWitness(ctx context.Context, l *lab.Lab) *witness {
	return &witness{sync.OnceValues(func() (*sql.DB, error) { return openWitness(ctx, l) })}
}

func openWitness(ctx context.Context, l *lab.Lab) (*sql.DB, error) {
	m, err := lab.StartMySQL(l)
	if err != nil {
		return nil, err
	}
	dsn, err := m.Create(ctx, "witness")
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE witness
		(name VARCHAR(128) PRIMARY KEY, fence BIGINT UNSIGNED NOT NULL, writes INT UNSIGNED NOT NULL)`)
	return db, err
}

// refused makes the writes of both holders, in their order, and returns those that the
// table refused. A holder writes at once when it has acquired.
func (w *witness) refused(ctx context.Context, key string, a, b []holder.Line) (map[holder.Line]bool, error) {
	writes := slices.DeleteFunc(slices.Concat(a, b), func(l holder.Line) bool { return l.Fence == 0 })
	if len(writes) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(writes, func(l, m holder.Line) int { return int(l.At - m.At) })
	db, err := w.open()
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // fails after Commit
	if _, err := tx.ExecContext(ctx, "INSERT INTO witness VALUES (?, 0, 0)", key); err != nil {
		return nil, err
	}
	refused := map[holder.Line]bool{}
	for _, l := range writes {
		if refused[l], err = refuses(ctx, tx, key, l.Fence); err != nil {
			return nil, err
		}
	}
	return refused, tx.Commit()
}

// refuses writes with a fence, and says whether the table refuses it.
func refuses(ctx context.Context, tx *sql.Tx, key string, fence uint64) (bool, error) {
	const update = "UPDATE witness SET fence = ?, writes = writes + 1 WHERE name = ? AND fence <= ?"
	result, err := tx.ExecContext(ctx, update, fence, key, fence)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 0, err
}
