package migrations

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A description holds what the database has of tables: texts by kind, table and name.
type description map[[2]string]map[string]string

func (d description) of(kind, table string) map[string]string { return d[[2]string{kind, table}] }

// has reports whether the table exists. One that a node of a cluster is making at this
// moment has no columns yet, and one that it drops has none left.
func (d description) has(table string) bool { return d.of("column", table) != nil }

// notUnique begins the text of a key that is none of the unique ones.
const notUnique = "not unique: "

// queries are the statements that describe a table, by kind. They select a name, a
// text, and the position of a part of the text. MariaDB looks at one table only if its
// name is compared with =, and it skips the comments for MySQL, as MySQL those for MariaDB.
var queries = []struct{ kind, statement string }{
	{"kind", `SELECT '', CONCAT_WS(' ', table_type, engine), 0 FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_name = ?`},
	{"column", `SELECT column_name, CONCAT(column_type, IF(is_nullable = 'YES', ' null', ''),
			IF(generation_expression <> '', ' generated', '')), ordinal_position
		FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?`},
	{"key", `SELECT index_name, CONCAT(IF(non_unique = 1, '` + notUnique + `', ''),
			/*!80013 IF(is_visible = 'YES', '', 'invisible: '), */ /*M!100600 IF(ignored = 'NO', '', 'ignored: '), */
			COALESCE(column_name, 'an expression'), COALESCE(CONCAT('(', sub_part, ')'), '')), seq_in_index
		FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ?`},
	{"changer", `SELECT trigger_name, 'trigger', 0 FROM information_schema.triggers
		WHERE event_object_schema = DATABASE() AND event_object_table = ?`},
	{"changer", `SELECT constraint_name, 'foreign key that changes rows', 0
		FROM information_schema.referential_constraints
		WHERE constraint_schema = DATABASE() AND table_name = ?
		  AND NOT (update_rule IN ('RESTRICT', 'NO ACTION') AND delete_rule IN ('RESTRICT', 'NO ACTION'))`},
}

type beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// describe describes the tables of this package.
func describe(ctx context.Context, db beginner) (description, error) {
	tx, err := db.BeginTx(ctx, nil) // a proxy sends a transaction to the server that accepts writes
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	d := description{}
	for _, q := range queries {
		if err := d.query(ctx, tx, q.kind, q.statement); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// query adds the results of one of queries for all tables.
func (d description) query(ctx context.Context, tx *sql.Tx, kind, statement string) error {
	var all []string
	for _, t := range tables {
		name := "'" + t.name + "'"
		about := strings.Replace(statement, "= ?", "= "+name, 1)
		all = append(all, strings.Replace(about, "SELECT ", "SELECT "+name+", ", 1))
	}
	rows, err := tx.QueryContext(ctx, strings.Join(all, " UNION ALL ")+" ORDER BY 1, 2, 4")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var table, name, text string
		var position int
		if err := rows.Scan(&table, &name, &text, &position); err != nil {
			return err
		}
		d.add(kind, table, name, text)
	}
	return rows.Err()
}

func (d description) add(kind, table, name, text string) {
	texts := d.of(kind, table)
	if texts == nil {
		texts = map[string]string{}
		d[[2]string{kind, table}] = texts
	}
	if part, more := texts[name]; more {
		text = part + "," + text
	}
	texts[name] = text
}

var (
	columnType = regexp.MustCompile(`^([a-z]+)(?:\((\d+)\))?( unsigned)?( null)?$`)
	integers   = []string{"tinyint", "smallint", "mediumint", "int", "bigint"}
)

// isWide reports whether a column of type have holds all values of type want. The
// width of an integer is one of display.
func isWide(have, want string) bool {
	h, w := columnType.FindStringSubmatch(have), columnType.FindStringSubmatch(want)
	if h == nil || h[3] != w[3] || h[4] != w[4] {
		return false
	}
	if i := slices.Index(integers, w[1]); i >= 0 {
		return slices.Index(integers, h[1]) >= i
	}
	hasSize, _ := strconv.Atoi(h[2])
	needsSize, _ := strconv.Atoi(w[2])
	return h[1] == w[1] && hasSize >= needsSize || w[1] == "varchar" && strings.HasSuffix(h[1], "text")
}
