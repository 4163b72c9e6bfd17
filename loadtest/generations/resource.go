package main

import (
	"context"
	"crypto/rand"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
)

// A resource is what the locks protect: rows of a database, each of which can
// check the fence of who writes it.
type resource struct{ db *sqlx.DB }

func openResource(ctx context.Context, m *lab.MySQL) (*resource, error) {
	dsn, err := m.Create(ctx, "generations_"+rand.Text()[:8])
	if err != nil {
		return nil, err
	}
	db, err := connect.MySQL(dsn, 8)
	if err != nil {
		return nil, err
	}
	const q = `CREATE TABLE resource (
		name  VARCHAR(64) NOT NULL PRIMARY KEY,
		value VARCHAR(64) NOT NULL,
		fence BIGINT UNSIGNED NOT NULL)`
	_, err = db.ExecContext(ctx, q)
	return &resource{db}, err
}

func (r *resource) create(ctx context.Context) (name string, err error) {
	const q = `INSERT INTO resource (name, value, fence) VALUES (?, '', 0)`
	name = rand.Text()
	_, err = r.db.ExecContext(ctx, q, name)
	return name, err
}

// write stores value. A fence other than zero is checked and kept in the same
// statement: a later holder's value is not overwritten.
func (r *resource) write(ctx context.Context, name, value string, fence uint64) error {
	const plain = `UPDATE resource SET value = ? WHERE name = ?`
	const fenced = `UPDATE resource SET value = ?, fence = ? WHERE name = ? AND fence <= ?`
	if fence == 0 {
		_, err := r.db.ExecContext(ctx, plain, value, name)
		return err
	}
	_, err := r.db.ExecContext(ctx, fenced, value, fence, name, fence)
	return err
}

func (r *resource) read(ctx context.Context, name string) (value string, err error) {
	const q = `SELECT value FROM resource WHERE name = ?`
	return value, r.db.GetContext(ctx, &value, q, name)
}
