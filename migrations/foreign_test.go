package migrations_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/migrations"
)

const golangMigrate = `CREATE TABLE schema_migrations (version BIGINT NOT NULL PRIMARY KEY, dirty BOOLEAN NOT NULL)`

// The database of another program remains as it is, whatever it holds.
func TestVersionsOfAnotherProgramAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string][]string{
		"none":         {golangMigrate},
		"clean":        {golangMigrate, `INSERT INTO schema_migrations VALUES (2, FALSE)`},
		"dirty":        {golangMigrate, `INSERT INTO schema_migrations VALUES (3, TRUE)`},
		"first, dirty": {golangMigrate, `INSERT INTO schema_migrations VALUES (1, TRUE)`},
		"as ours":      {golangMigrate, `INSERT INTO schema_migrations VALUES (6, FALSE)`},
		"a time stamp": {golangMigrate, `INSERT INTO schema_migrations VALUES (20261111000000, FALSE)`},
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
			for range 2 {
				mustUp(t, db)
				if err := migrations.CheckGuards(t.Context(), db.DB); err != nil {
					t.Error(err)
				}
				if newer, err := migrations.Newer(t.Context(), db.DB); newer != 0 || err != nil {
					t.Errorf("the schema is newer: %d, %v", newer, err)
				}
				mustDown(t, db)
			}
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
	db := emptyDatabase(t)
	mustUp(t, db)
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

// All migrations run again, which changes nothing where they have run.
func TestSchemaOfAnOlderBinaryIsMigrated(t *testing.T) {
	t.Parallel()
	for _, dirty := range []bool{false, true} { // true: the older binary was interrupted
		db := emptyDatabase(t)
		olderSchema(t, db)
		db.MustExec(`UPDATE schema_migrations SET dirty = ?`, dirty)
		db.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (1, 2, 3, UTC_TIMESTAMP(3))`)
		mustUp(t, db)
		check.NoError(t, migrations.CheckGuards(t.Context(), db.DB))
		if orders := texts(t, db, `SELECT coupon_id, user_id, number FROM coupon_orders`); len(orders) != 1 {
			t.Errorf("dirty %t: %v, not the one order", dirty, orders)
		}
	}
}

// olderSchema makes what a binary from before flashsale_migrations has made.
func olderSchema(t *testing.T, db *sqlx.DB) {
	t.Helper()
	mustUp(t, db)
	db.MustExec(golangMigrate)
	db.MustExec(`INSERT INTO schema_migrations VALUES (6, FALSE)`)
	db.MustExec(`DELETE FROM schema_compatibility`)
	db.MustExec(`INSERT INTO schema_compatibility VALUES (6, 1)`)
	db.MustExec(`DROP TABLE flashsale_migrations, coupon_change_keys, coupon_rules, coupon_orders_ended, coupon_holds,
		coupon_events`)
	db.MustExec(`ALTER TABLE coupon_orders DROP KEY one_each, ADD UNIQUE KEY one_each (coupon_id, user_id),
		DROP COLUMN number, DROP COLUMN expires_at, DROP COLUMN used_at, DROP COLUMN used_by, DROP COLUMN used_ref`)
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
