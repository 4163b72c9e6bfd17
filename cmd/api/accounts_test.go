package main

import (
	"cmp"
	"crypto/rand"
	"io"
	"maps"
	"regexp"
	"strings"
	"testing"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
)

// accounts makes the accounts of docs/install.md for a new database, and returns its
// DSN with each.
func accounts(t *testing.T) (migrate, service string) {
	t.Helper()
	server := labtest.SharedMySQL(t)
	dsn := labtest.EmptyDatabase(t, server)
	name := strings.TrimPrefix(dsn, server.DSN(""))
	admin := labtest.Open(t, dsn)
	page := readFile(t, "../../docs/install.md")
	statements := regexp.MustCompile(`(?:CREATE USER|GRANT) .*?;`).FindAllString(page, -1)
	if len(statements) != 4 {
		t.Fatalf("docs/install.md has the statements %q", statements)
	}
	for _, statement := range statements {
		admin.MustExec(strings.Replace(statement, "flashsale.*", name+".*", 1))
	}
	return strings.Replace(dsn, "root@", "migrate:OTHER@", 1), strings.Replace(dsn, "root@", "flashsale:PASSWORD@", 1)
}

func TestInstancesNeedNoAccountThatChangesTheSchema(t *testing.T) {
	t.Parallel()
	migrate, service := accounts(t)
	env := map[string]string{"MYSQL_DSN": migrate}
	check.NoError(t, run(t.Context(), []string{"migrate"}, from(env), io.Discard, io.Discard))
	env = environ(t, map[string]string{"MYSQL_DSN": service, "MIGRATE": "false"})
	if _, err := labtest.Open(t, service).Exec(`ALTER TABLE coupons ADD COLUMN extra INT`); err == nil {
		t.Error("the service's account changes the schema")
	}
	for _, lock := range []string{"redis", "mysql", "getlock"} {
		env := maps.Clone(env)
		env["LOCK"] = lock
		i := start(t, env).ready(t)
		id := i.createCoupon(t, 1)
		wantStatus(t, i.eventuallyPost(t, "/coupons/"+id+"/orders", tokenFor(t, 1, auth.RoleUser), ""), 201)
		admin := tokenFor(t, 1, auth.RoleAdmin)
		wantStatus(t, i.eventuallyPost(t, "/coupons/"+id+"/stock", admin, `{"add":1}`), 200)
		wantStatus(t, i.get(t, "/coupons/"+id+"/audit", admin), 200)
		wantStatus(t, i.get(t, "/coupons/"+id+"/orders", admin), 200)
	}
}

// What happened is not changed afterwards: the account may have fewer rights.
func TestInstancesOnlyAddToWhatHappened(t *testing.T) {
	t.Parallel()
	env := environ(t, map[string]string{"EVENTS": "true", "MIGRATE": "false"})
	admin := labtest.Open(t, env["MYSQL_DSN"])
	labtest.Migrate(t, admin)
	name := "u" + strings.ToLower(rand.Text()[:8])
	admin.MustExec(`CREATE USER ` + name + ` IDENTIFIED BY 'PASSWORD'`)
	var tables []string
	const q = `SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()`
	check.NoError(t, admin.Select(&tables, q))
	rights := map[string]string{
		"coupon_changes": "SELECT, INSERT", "coupon_updates": "SELECT, INSERT",
		"coupon_orders_ended": "SELECT, INSERT",
		"coupon_events":       "SELECT, INSERT, DELETE",
	}
	for _, table := range tables {
		all := cmp.Or(rights[table], "SELECT, INSERT, UPDATE, DELETE")
		admin.MustExec(`GRANT ` + all + ` ON ` + table + ` TO ` + name)
	}
	env["MYSQL_DSN"] = strings.Replace(env["MYSQL_DSN"], "root@", name+":PASSWORD@", 1)
	i := start(t, env).ready(t)
	path := "/coupons/" + i.createCoupon(t, 2) + "/orders"
	for user := range int64(2) {
		r := i.post(t, path, tokenFor(t, user+1, auth.RoleUser), "")
		id, _ := r.body["id"].(string)
		token := tokenFor(t, 9, auth.RoleAdmin)
		if user == 0 {
			r = i.do(t, "DELETE", "/orders/"+id, token, "")
		} else {
			r = i.do(t, "PUT", "/orders/"+id+"/use", token, `{"reference":"till-7"}`)
		}
		if r.status != 200 {
			t.Errorf("order %s: %+v\n%s", id, r, i.log)
		}
	}
	eventually(t, func() bool {
		return strings.Contains(i.get(t, "/metrics", "").text, "\nflashsale_events_published_total 4\n")
	})
}

// Rights that were given for each table miss one that an update has added, or a column.
func TestInstanceWithoutARightToOneTableIsNotReady(t *testing.T) {
	t.Parallel()
	admin, dsn := ownMySQL(t)
	labtest.Migrate(t, admin)
	const all = "SELECT, INSERT, UPDATE, DELETE"
	admin.MustExec(`REVOKE ALL ON sale.* FROM service`)
	tables := map[string]string{
		"coupons": "SELECT, UPDATE", "coupon_segments": "SELECT, UPDATE", "coupon_rules": "SELECT",
		"coupon_transfers": "SELECT, INSERT, UPDATE",
		"coupon_changes":   "SELECT", "coupon_orders": all, "coupon_holds": "INSERT, DELETE",
		"coupon_events": "INSERT", "locks": "INSERT, UPDATE",
		"coupon_orders_ended": "", "coupon_updates": "", "coupon_change_keys": "", "schema_compatibility": "",
		"flashsale_migrations": "",
	}
	for table := range tables {
		admin.MustExec(`GRANT ` + all + ` ON sale.` + table + ` TO service`)
	}
	env := map[string]string{"MYSQL_DSN": dsn, "MIGRATE": "false", "EVENTS": "true", "LOCK": "mysql"}
	i := start(t, environ(t, env))
	for table, rights := range tables {
		for right := range strings.SplitSeq(rights, ", ") {
			if right == "" {
				continue
			}
			eventually(t, func() bool { // on a busy machine a late reply is 503 too, and the log has that
				i.ready(t)
				admin.MustExec(`REVOKE ` + right + ` ON sale.` + table + ` FROM service`)
				eventually(t, func() bool { return i.get(t, "/readyz", "").status == 503 })
				admin.MustExec(`GRANT ` + right + ` ON sale.` + table + ` TO service`)
				log := i.log.String()
				const grant = "GRANT SELECT, INSERT, UPDATE, DELETE ON `sale`.* TO 'service'@'%'"
				said := strings.Contains(log, right+" command denied") && strings.Contains(log, table) &&
					strings.Contains(log, grant)
				if !said {
					t.Logf("%s on %s: the log does not say what is lacking, or what gives it", right, table)
				}
				return said
			})
		}
	}
}

// One burst of reads takes all connections of the account, and leaves them idle.
func TestAccountWithFewConnectionsSells(t *testing.T) {
	t.Parallel()
	admin, dsn := ownMySQL(t)
	admin.MustExec(`ALTER USER service WITH MAX_USER_CONNECTIONS 6`)
	env := map[string]string{"MYSQL_DSN": dsn, "COUPON_CACHE": "0s", "CLAIM_TIMEOUT": "30s"}
	i := start(t, environ(t, env)).ready(t)
	id := i.createCoupon(t, 40)
	token := tokenFor(t, 1, auth.RoleAdmin)
	check.AtOnce(60, func(int) { i.get(t, "/coupons?limit=50", token) })
	check.AtOnce(40, func(n int) {
		r := i.post(t, "/coupons/"+id+"/orders", tokenFor(t, int64(n+1), auth.RoleUser), "")
		wantStatus(t, r, 201)
	})
}
