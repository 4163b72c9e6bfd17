package generations

import (
	"context"
	"crypto/rand"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
)

// A fencedStore is the resource that the locks protect: rows in MySQL that can
// check the fencing token of a write.
type fencedStore struct{ db *sqlx.DB }

func openFencedStore(ctx context.Context, m *lab.MySQL) (*fencedStore, error) {
	dsn, err := m.Create(ctx, "generations_"+rand.Text()[:8])
	if err != nil {
		return nil, err
	}
	db, err := connect.MySQL(dsn, 8)
	if err != nil {
		return nil, err
	}
	const q = `CREATE TABLE fenced_values (
		name  VARCHAR(64) NOT NULL PRIMARY KEY,
		value VARCHAR(64) NOT NULL,
		fence BIGINT UNSIGNED NOT NULL)`
	_, err = db.ExecContext(ctx, q)
	return &fencedStore{db}, err
}

// create inserts an empty row and returns its name.
func (s *fencedStore) create(ctx context.Context) (name string, err error) {
	const q = `INSERT INTO fenced_values (name, value, fence) VALUES (?, '', 0)`
	name = rand.Text()
	_, err = s.db.ExecContext(ctx, q, name)
	return name, err
}

// write stores value. A fence other than zero is compared and stored in the
// same statement, so that a write with an older fence changes nothing.
func (s *fencedStore) write(ctx context.Context, name, value string, fence uint64) error {
	const unfenced = `UPDATE fenced_values SET value = ? WHERE name = ?`
	const fenced = `UPDATE fenced_values SET value = ?, fence = ? WHERE name = ? AND fence <= ?`
	if fence == 0 {
		_, err := s.db.ExecContext(ctx, unfenced, value, name)
		return err
	}
	_, err := s.db.ExecContext(ctx, fenced, value, fence, name, fence)
	return err
}

func (s *fencedStore) read(ctx context.Context, name string) (value string, err error) {
	const q = `SELECT value FROM fenced_values WHERE name = ?`
	return value, s.db.GetContext(ctx, &value, q, name)
}
