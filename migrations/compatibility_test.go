package migrations_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/migrations"
)

// migrateFurther does to db what a binary with one more migration does, which
// marks its schema as compatible with binaries from version oldest on.
func migrateFurther(t *testing.T, db *sqlx.DB, oldest string) (version int) {
	t.Helper()
	mustUp(t, db)
	check.NoError(t, db.Get(&version, `SELECT version + 1 FROM flashsale_migrations`))
	db.MustExec(`REPLACE INTO schema_compatibility SELECT version + 1, ` + oldest + ` FROM flashsale_migrations`)
	db.MustExec(`UPDATE flashsale_migrations SET version = ?`, version)
	return version
}

func TestNewerSchemaThatIsMarkedCompatibleIsUsed(t *testing.T) {
	t.Parallel()
	for _, dirty := range []bool{false, true} { // true: the newer binary was interrupted
		db := emptyDatabase(t)
		version := migrateFurther(t, db, "version")
		db.MustExec(`UPDATE flashsale_migrations SET dirty = ?`, dirty)
		mustUp(t, db)
		if newer, err := migrations.Newer(t.Context(), db.DB); newer != version || err != nil {
			t.Errorf("dirty %t: Newer returned %d, %v; the schema has version %d", dirty, newer, err, version)
		}
		var after int
		if err := db.Get(&after, `SELECT version FROM flashsale_migrations`); err != nil || after != version {
			t.Errorf("dirty %t: the old binary left version %d, %v", dirty, after, err)
		}
		if err := migrations.Down(t.Context(), db.DB); err == nil {
			t.Errorf("dirty %t: Down reverted a migration that it lacks", dirty)
		}
	}
}

func TestNewerSchemaThatIsNotMarkedCompatibleIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"not compatible with this binary": `UPDATE schema_compatibility SET oldest = version`,
		"not marked":                      `DELETE FROM schema_compatibility`,
		"from before marks":               `DROP TABLE schema_compatibility`,
		"beyond the mark":                 `UPDATE flashsale_migrations SET version = 999999`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := emptyDatabase(t)
			migrateFurther(t, db, "version")
			db.MustExec(change)
			check.ErrorIs(t, migrations.Up(t.Context(), db.DB), migrations.ErrTooNew)
			if _, err := migrations.Newer(t.Context(), db.DB); !errors.Is(err, migrations.ErrTooNew) {
				t.Errorf("Newer: %v", err)
			}
		})
	}
}

// An instance with MIGRATE=false may meet a database without any table.
func TestOwnSchemaAndNoSchemaAreNotNewer(t *testing.T) {
	t.Parallel()
	db := emptyDatabase(t)
	for range 2 {
		if newer, err := migrations.Newer(t.Context(), db.DB); newer != 0 || err != nil {
			t.Errorf("got %d, %v", newer, err)
		}
		mustUp(t, db)
	}
}

// A binary that the new schema does not work with must be refused as soon as the
// first migration begins. Here that one waits for a table that is locked.
func TestMarkPrecedesTheMigrations(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	db.MustExec(`DELETE FROM schema_compatibility`)
	db.MustExec(`UPDATE flashsale_migrations SET dirty = TRUE`)
	execute := elsewhere(t, db)
	execute(`LOCK TABLES ` + newestTable + ` WRITE`)
	migrated := check.Begin(func() error { return migrations.Up(context.Background(), db.DB) })
	check.Eventually(t, "the migration waits", func() bool {
		return labtest.Executing(t, db, `%ALTER TABLE `+newestTable+`%`) == 1
	})
	var marks int
	if err := db.Get(&marks, `SELECT COUNT(*) FROM schema_compatibility`); err != nil || marks != 1 {
		t.Errorf("%d marks, %v", marks, err)
	}
	execute(`UNLOCK TABLES`)
	check.NoError(t, <-migrated)
}

// A new database is marked as one that no older binary works with.
func TestAllowRulesRaisesAMarkAndLowersNone(t *testing.T) {
	t.Parallel()
	db := emptyDatabase(t)
	mustUp(t, db)
	var fresh int
	check.NoError(t, db.Get(&fresh, `SELECT oldest FROM schema_compatibility`))
	for marked, want := range map[int]int{fresh: fresh, 1: 13} {
		db.MustExec(`UPDATE schema_compatibility SET oldest = ?`, marked)
		check.NoError(t, migrations.AllowRules(t.Context(), db.DB))
		var oldest int
		check.NoError(t, db.Get(&oldest, `SELECT oldest FROM schema_compatibility`))
		if oldest != want || fresh <= 13 {
			t.Errorf("marked %d, then %d, want %d", marked, oldest, want)
		}
	}
}
