package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// ErrForeign says that the database has a table with the name of one of the service's
// that is not as the migrations make it.
var ErrForeign = errors.New("a table is not the service's, which needs a database of its own")

// ownTables describes the tables of the service that exist. The error wraps ErrForeign
// if one of them is a view or lacks columns, and so is another program's.
func ownTables(ctx context.Context, conn *sql.Conn) (description, error) {
	found, err := describe(ctx, conn)
	if err != nil {
		return nil, err
	}
	var foreign []string
	for _, t := range tables {
		switch {
		case found.of("kind", t.name)[""] == "VIEW":
			foreign = append(foreign, "the table "+t.name+" is a view")
		case found.has(t.name):
			foreign = append(foreign, t.columnDifferences(found, t.columns)...)
		}
	}
	if len(foreign) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrForeign, strings.Join(foreign, "; "))
	}
	return found, nil
}

// refuseDown returns an error that wraps ErrForeign if there are tables, but nothing
// shows that this package has made them.
func refuseDown(ctx context.Context, conn *sql.Conn, own description) error {
	const q = `SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?`
	versioned, err := number(ctx, conn, q, versionTable)
	if err != nil || versioned > 0 {
		return err
	}
	for _, t := range tables {
		if own.has(t.name) {
			return fmt.Errorf("%w: nothing shows who made the table %s", ErrForeign, t.name)
		}
	}
	return nil
}
