// Package migrations embeds the schema, so that the service, the tests and the
// lab apply the same files. Each file holds one statement: a migration cannot
// be applied in part, and the DSN needs no multiStatements.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database/mysql"
	"github.com/golang-migrate/migrate/v4/source/iofs"
)

//go:embed *.sql
var files embed.FS

// Up applies the missing migrations. Concurrent calls are safe: golang-migrate
// serialises them with GET_LOCK.
func Up(ctx context.Context, db *sql.DB) error {
	return run(ctx, db, (*migrate.Migrate).Up)
}

// Down reverts all migrations. All data is lost.
func Down(ctx context.Context, db *sql.DB) error {
	return run(ctx, db, (*migrate.Migrate).Down)
}

func run(ctx context.Context, db *sql.DB, step func(*migrate.Migrate) error) error {
	source, err := iofs.New(files, ".")
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("migrations: connect: %w", err)
	}
	// Unlike WithInstance, WithConnection does not close db with the migrator.
	driver, err := mysql.WithConnection(ctx, conn, &mysql.Config{})
	if err != nil {
		return errors.Join(fmt.Errorf("migrations: %w", err), conn.Close())
	}
	m, err := migrate.NewWithInstance("embed", source, "mysql", driver)
	if err != nil {
		return errors.Join(fmt.Errorf("migrations: %w", err), driver.Close())
	}
	err = step(m)
	if errors.Is(err, migrate.ErrNoChange) {
		err = nil
	}
	sourceErr, driverErr := m.Close()
	return errors.Join(err, sourceErr, driverErr)
}
