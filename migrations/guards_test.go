package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/migrations"
)

func TestEachDifferenceOfAGuardIsNamed(t *testing.T) {
	t.Parallel()
	const (
		orders = "ALTER TABLE coupon_orders "
		oneKey = orders + "DROP KEY one_each, ADD UNIQUE KEY one_each "
		noUser = orders + "DROP KEY one_each, DROP KEY by_user, DROP COLUMN user_id, "
	)
	for _, difference := range [][2]string{
		{orders + `DROP KEY one_each`, "coupon_orders has the unique key one_each (none), not (coupon_id,user_id,number)"},
		{oneKey + `(coupon_id, user_id)`, "one_each (coupon_id,user_id),"},
		{oneKey + `(coupon_id, user_id, created_at)`, "one_each (coupon_id,user_id,created_at)"},
		{oneKey + `(user_id, coupon_id)`, "one_each (user_id,coupon_id)"},
		{oneKey + `(coupon_id)`, "one_each (coupon_id)"},
		{orders + `DROP KEY one_each, ADD KEY one_each (coupon_id, user_id)`, "not unique"},
		{orders + `ALTER INDEX one_each /*!80013 INVISIBLE */ /*M!100600 IGNORED */`, "one_each (i"},
		{orders + `ADD COLUMN text CHAR(9) NOT NULL, DROP KEY one_each, ADD UNIQUE KEY one_each (coupon_id, text(1))`,
			"text(1)"},
		{orders + `ADD UNIQUE KEY one_for_ever (user_id)`, "unique key one_for_ever (user_id), which refuses rows"},
		{orders + `DROP PRIMARY KEY, ADD PRIMARY KEY (id, coupon_id)`, "PRIMARY (id,coupon_id)"},
		{orders + `DROP PRIMARY KEY`, "PRIMARY (none)"},
		{orders + `MODIFY user_id BIGINT`, "user_id bigint"},
		{orders + `MODIFY user_id INT NOT NULL`, "user_id int"},
		{orders + `MODIFY user_id FLOAT NOT NULL`, "user_id float"},
		{orders + `MODIFY user_id BIGINT UNSIGNED NOT NULL`, "unsigned"},
		{noUser + `ADD COLUMN user_id BIGINT AS (id % 9) STORED, ADD UNIQUE KEY one_each (coupon_id, user_id)`,
			"generated"},
		{`ALTER TABLE coupons DROP PRIMARY KEY`, "coupons has the unique key PRIMARY"},
		{`ALTER TABLE coupons MODIFY begin_time DATE NOT NULL`, "begin_time date"},
		{`ALTER TABLE coupon_segments DROP PRIMARY KEY, ADD PRIMARY KEY (coupon_id)`, "PRIMARY (coupon_id)"},
		{orders + `ENGINE = MyISAM`, "coupon_orders is a BASE TABLE MyISAM"},
		{`ALTER TABLE coupons ENGINE = MyISAM`, "coupons is a BASE TABLE MyISAM"},
		{`ALTER TABLE coupon_segments ENGINE = MyISAM`, "coupon_segments is a BASE TABLE MyISAM"},
		{`ALTER TABLE coupon_changes ENGINE = MyISAM`, "coupon_changes is a BASE TABLE MyISAM"},
		{`DROP TABLE coupon_changes`, "coupon_changes is missing, or the account has no right"},
		{`RENAME TABLE coupon_orders TO COUPON_ORDERS_OLD`, "coupon_orders is missing"},
		{`CREATE TRIGGER peek AFTER INSERT ON coupon_orders FOR EACH ROW SET @peek = 1`, "orders has the trigger peek"},
		{`CREATE TRIGGER peek BEFORE UPDATE ON coupons FOR EACH ROW SET NEW.stock = 1`, "coupons has the trigger peek"},
		{orders + `ADD CONSTRAINT gone FOREIGN KEY (coupon_id) REFERENCES coupons (id) ON DELETE CASCADE`,
			"the foreign key that changes rows gone"},
	} {
		t.Run(difference[0], func(t *testing.T) {
			t.Parallel()
			db := labtest.DB(t)
			db.MustExec(difference[0])
			err := migrations.CheckGuards(t.Context(), db.DB)
			if !errors.Is(err, migrations.ErrUnguarded) || !strings.Contains(err.Error(), difference[1]) {
				t.Errorf("%v; want %q", err, difference[1])
			}
		})
	}
}

func TestViewIsNoGuard(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	db.MustExec(`RENAME TABLE coupon_orders TO other`)
	db.MustExec(`CREATE VIEW coupon_orders AS SELECT * FROM other`)
	if err := migrations.CheckGuards(t.Context(), db.DB); !errors.Is(err, migrations.ErrUnguarded) ||
		!strings.Contains(err.Error(), "coupon_orders is a VIEW") {
		t.Error(err)
	}
}

func TestWhatGuardsAsWellIsNoDifference(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	for _, statement := range []string{
		`ALTER TABLE coupons MODIFY stock BIGINT NOT NULL, MODIFY name VARCHAR(500) NOT NULL, ADD COLUMN color INT`,
		`ALTER TABLE coupon_orders ADD KEY by_day (created_at)`,
		`ALTER TABLE coupon_changes ADD FOREIGN KEY (coupon_id) REFERENCES coupons (id)`,
		`ALTER TABLE coupon_segments PARTITION BY KEY (coupon_id) PARTITIONS 4`,
		`ALTER TABLE coupon_updates CONVERT TO CHARACTER SET latin1`,
		`CREATE TABLE coupon_orders_archive LIKE coupon_orders`,
	} {
		db.MustExec(statement)
		if err := migrations.CheckGuards(t.Context(), db.DB); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	db.MustExec(`ALTER TABLE coupon_orders DROP KEY one_each`)
	if err := migrations.CheckGuards(t.Context(), db.DB, "one_each"); err != nil {
		t.Errorf("without the key that the lab removes: %v", err)
	}
}

// A look that fails must not be taken for a difference.
func TestLookThatFailsFindsNoDifference(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := migrations.CheckGuards(ctx, db.DB); err == nil || errors.Is(err, migrations.ErrUnguarded) {
		t.Error(err)
	}
}

// A migration may not be forgotten in the shape that is looked for.
func TestEveryColumnAndUniqueKeyIsLookedFor(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	for _, look := range [][2]string{
		{"column", `SELECT table_name, column_name,
				CONCAT('ALTER TABLE ', table_name, ' RENAME COLUMN ', column_name, ' TO x_', column_name)
			FROM information_schema.columns
			WHERE table_schema = DATABASE() AND table_name NOT LIKE 'schema%' AND table_name NOT LIKE 'flashsale%'`},
		{"unique key", `SELECT DISTINCT table_name, index_name, IF(index_name = 'PRIMARY', 'DO 0',
				CONCAT('ALTER TABLE ', table_name, ' RENAME INDEX ', index_name, ' TO x_', index_name))
			FROM information_schema.statistics
			WHERE table_schema = DATABASE() AND non_unique = 0
				AND table_name NOT LIKE 'schema%' AND table_name NOT LIKE 'flashsale%'`},
	} {
		all := texts(t, db, look[1])
		for _, row := range all {
			db.MustExec(row[2])
		}
		found := fmt.Sprint(migrations.CheckGuards(t.Context(), db.DB))
		for _, row := range all {
			if !strings.Contains(found, "the table "+row[0]+" has the "+look[0]+" "+row[1]+" ") {
				t.Errorf("%s: the %s is not looked for: %s", row, look[0], found)
			}
		}
	}
}

func texts(t *testing.T, db *sqlx.DB, q string) (all [][3]string) {
	t.Helper()
	rows, err := db.Query(q)
	check.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var row [3]string
		check.NoError(t, rows.Scan(&row[0], &row[1], &row[2]))
		all = append(all, row)
	}
	return all
}
