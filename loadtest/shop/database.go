package shop

import (
	"context"
	"fmt"
	"strconv"

	_ "github.com/go-sql-driver/mysql" // sqlx.Connect
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite"
)

// A database is where a shop's orders are counted by SQL.
type database struct{ name, driver, dsn string }

// database returns the one that the file names, or none.
func (s *Shop) database() database {
	switch {
	case s.PostgreSQL != "":
		return database{"postgresql", "pgx", string(s.PostgreSQL)}
	case s.SQLite != "":
		return database{"sqlite", "sqlite", "file:" + string(s.SQLite) + "?mode=rw&_pragma=busy_timeout(10000)"}
	case s.MySQL != "":
		return database{"mysql", "mysql", string(s.MySQL)}
	}
	return database{}
}

// open returns nil if there is none.
func (d database) open(ctx context.Context) (*sqlx.DB, error) {
	if d.name == "" {
		return nil, nil
	}
	db, err := sqlx.ConnectContext(ctx, d.driver, d.dsn)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	return db, nil
}

// bind returns a statement as the database wants it, and what its placeholders stand for.
func (s *Sale) bind(t Text, v Values) (query string, args []any) {
	if s.PostgreSQL != "" {
		return t.bind(v, func(i int) string { return "$" + strconv.Itoa(i) })
	}
	return t.bind(v, func(int) string { return "?" })
}
