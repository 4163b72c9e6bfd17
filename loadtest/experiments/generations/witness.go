package generations

import (
	"context"
	"crypto/rand"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
)

// A witness is a resource that the fence of a lock protects: a table of MySQL that refuses a smaller
// fence than it has seen. It is safe for concurrent use.
type witness struct{ *sqlx.DB }

// openWitness creates a witness in a database of its own on m.
func openWitness(ctx context.Context, m *lab.MySQL) (*witness, error) {
	dsn, err := m.Create(ctx, "witness_"+rand.Text()[:8])
	if err != nil {
		return nil, err
	}
	db, err := connect.MySQL(dsn, 8)
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE witness
		(id INT UNSIGNED PRIMARY KEY AUTO_INCREMENT, fence BIGINT UNSIGNED NOT NULL, writes INT UNSIGNED NOT NULL)`)
	return &witness{db}, err
}

// refused writes to a new row with each fence, in their order, and says which of the writes
// were refused. One without a fence, 0, never is.
func (w *witness) refused(ctx context.Context, fences ...uint64) ([]bool, error) {
	row, err := w.ExecContext(ctx, "INSERT INTO witness (fence, writes) VALUES (0, 0)")
	if err != nil {
		return nil, err
	}
	id, err := row.LastInsertId()
	if err != nil {
		return nil, err
	}
	refused := make([]bool, len(fences))
	for i, fence := range fences {
		const q = `UPDATE witness SET fence = GREATEST(fence, ?), writes = writes + 1
			WHERE id = ? AND (? = 0 OR fence <= ?)`
		result, err := w.ExecContext(ctx, q, fence, id, fence, fence)
		if err != nil {
			return nil, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return nil, err
		}
		refused[i] = n == 0
	}
	return refused, nil
}
