package main

import (
	"io"
	"maps"
	"regexp"
	"strings"
	"testing"

	"example.com/flashsale/internal/auth"
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
	if err := run(t.Context(), []string{"migrate"}, from(env), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	env = settings(t, map[string]string{"MYSQL_DSN": service, "MIGRATE": "false"})
	if _, err := labtest.Open(t, service).Exec(`ALTER TABLE coupons ADD COLUMN extra INT`); err == nil {
		t.Error("the service's account changes the schema")
	}
	for _, lock := range []string{"redis", "mysql", "getlock"} {
		env := maps.Clone(env)
		env["LOCK"] = lock
		i := start(t, env).ready(t)
		id := i.createCoupon(t, 1)
		if r := i.eventuallyPost(t, "/coupons/"+id+"/orders", tokenFor(t, 1, auth.RoleUser), ""); r.status != 201 {
			t.Errorf("LOCK=%s: claim: %+v", lock, r)
		}
		admin := tokenFor(t, 1, auth.RoleAdmin)
		if r := i.eventuallyPost(t, "/coupons/"+id+"/stock", admin, `{"add":1}`); r.status != 200 {
			t.Errorf("LOCK=%s: restock: %+v", lock, r)
		}
		if r := i.get(t, "/coupons/"+id+"/audit", admin); r.status != 200 {
			t.Errorf("LOCK=%s: audit: %+v", lock, r)
		}
	}
}
