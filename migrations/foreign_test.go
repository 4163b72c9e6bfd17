package migrations_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/migrations"
)

const golangMigrate = `CREATE TABLE schema_migrations (version BIGINT NOT NULL PRIMARY KEY, dirty BOOLEAN NOT NULL)`

// The database of another program remains as it is, whatever it holds.
func TestVersionsOfAnotherProgramAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string][]string{
		"dirty": {golangMigrate, `INSERT INTO schema_migrations VALUES (3, TRUE)`},
		"of Rails": {`CREATE TABLE schema_migrations (version VARCHAR(255) NOT NULL PRIMARY KEY)`,
			`INSERT INTO schema_migrations VALUES ('20261111000000'), ('20261112000000')`},
		"a view": {`CREATE VIEW schema_migrations AS SELECT 6 AS version, 0 AS dirty`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := emptyDatabase(t)
			for _, statement := range statements {
				db.MustExec(statement)
			}
			const all = `SELECT GROUP_CONCAT(version), 0, COUNT(*) FROM schema_migrations HAVING COUNT(*) > 0`
			before := texts(t, db, all)
			mustUp(t, db)
			check.NoError(t, migrations.CheckGuards(t.Context(), db.DB))
			if newer, err := migrations.Newer(t.Context(), db.DB); newer != 0 || err != nil {
				t.Errorf("the schema is newer: %d, %v", newer, err)
			}
			mustDown(t, db)
			if diff := cmp.Diff(before, texts(t, db, all)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Nothing is written, by Up or by Down, and the table is named.
func TestTableOfAnotherProgramIsRefusedByName(t *testing.T) {
	t.Parallel()
	for statement, name := range map[string]string{
		`CREATE TABLE coupons (id BIGINT UNSIGNED PRIMARY KEY, code VARCHAR(9), created_at TIMESTAMP)`: "coupons",
		`CREATE TABLE locks (id INT PRIMARY KEY)`:                                                      "locks",
		`CREATE VIEW coupon_orders AS SELECT 1 AS id, 2 AS coupon_id, 3 AS user_id, 4 AS created_at`:   "coupon_orders",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := emptyDatabase(t)
			db.MustExec(golangMigrate)
			db.MustExec(statement)
			before := tableNames(t, db)
			for _, err := range []error{
				migrations.Up(t.Context(), db.DB), migrations.Down(t.Context(), db.DB),
				migrations.CheckGuards(t.Context(), db.DB),
			} {
				if err == nil || !strings.Contains(err.Error(), "the table "+name+" ") {
					t.Error(err)
				}
			}
			check.ErrorIs(t, migrations.Up(t.Context(), db.DB), migrations.ErrForeign)
			if diff := cmp.Diff(before, tableNames(t, db)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDownDropsNoTableThatNothingShowsToBeTheService(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	db.MustExec(`DROP TABLE flashsale_migrations`)
	before := tableNames(t, db)
	check.ErrorIs(t, migrations.Down(t.Context(), db.DB), migrations.ErrForeign)
	if diff := cmp.Diff(before, tableNames(t, db)); diff != "" {
		t.Error(diff)
	}
	mustUp(t, db)
	mustDown(t, db)
	if n := len(tableNames(t, db)); n != 2 {
		t.Errorf("%d tables are left, not the version and the marks", n)
	}
}

func mustDown(t *testing.T, db *sqlx.DB) {
	t.Helper()
	check.NoError(t, migrations.Down(t.Context(), db.DB))
}

func tableNames(t *testing.T, db *sqlx.DB) [][3]string {
	t.Helper()
	return texts(t, db, `SELECT table_name, table_type, '' FROM information_schema.tables
		WHERE table_schema = DATABASE() ORDER BY table_name`)
}
