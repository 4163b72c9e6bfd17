package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrUnguarded says that the database lacks something by which it keeps the promises.
var ErrUnguarded = errors.New("the database does not guard the sale")

// CheckGuards compares the tables of db with those that the migrations make: InnoDB
// tables, their columns, which may be wider, and exactly their unique keys, without
// triggers and foreign keys that change rows. It returns an error that wraps
// ErrUnguarded and names each difference, or another one if it could not look. A
// unique key named in without may be missing.
//
// MySQL shows a trigger only with the privilege TRIGGER, MariaDB also with one to change
// rows. A table is seen with any privilege on it.
func CheckGuards(ctx context.Context, db *sql.DB, without ...string) error {
	found, err := describe(ctx, db)
	if err != nil {
		return fmt.Errorf("migrations: look at the schema: %w", err)
	}
	var differences []string
	for _, t := range tables {
		differences = append(differences, t.differences(found, without)...)
	}
	if len(differences) > 0 {
		return fmt.Errorf("%w: %s", ErrUnguarded, strings.Join(differences, "; "))
	}
	return nil
}

// differences returns in which ways the table found does not do what t would.
func (t table) differences(found description, without []string) (all []string) {
	differ := func(format string, args ...any) {
		all = append(all, "the table "+t.name+" "+fmt.Sprintf(format, args...))
	}
	switch kind, exists := found.of("kind", t.name)[""]; {
	case !exists:
		differ(`is missing, or the account has no right to it: has "api migrate" run?`)
		return all
	case kind != "BASE TABLE InnoDB":
		differ("is a %s, not a BASE TABLE InnoDB", kind)
	}
	all = slices.Concat(all, t.columnDifferences(found, t.columns), t.columnDifferences(found, t.added))
	keys, changers := found.of("key", t.name), found.of("changer", t.name)
	for _, name := range slices.Sorted(maps.Keys(t.keys)) {
		if keys[name] != t.keys[name] && !slices.Contains(without, name) {
			differ("has the unique key %s (%s), not (%s)", name, orNone(keys[name]), t.keys[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if t.keys[name] == "" && !strings.HasPrefix(keys[name], notUnique) {
			differ("has the unique key %s (%s), which refuses rows that the service may write", name, keys[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(changers)) {
		differ("has the %s %s", changers[name], name)
	}
	return all
}

func (t table) columnDifferences(found description, want map[string]string) (all []string) {
	columns := found.of("column", t.name)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !isWide(columns[name], want[name]) {
			all = append(all, fmt.Sprintf("the table %s has the column %s %s, not %s",
				t.name, name, orNone(columns[name]), want[name]))
		}
	}
	return all
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
