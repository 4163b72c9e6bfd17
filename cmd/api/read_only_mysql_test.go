package main

import (
	"io"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/migrations"
)

// A replica that replication has not been told to leave, a primary that a failover
// has demoted: they reply to everything but writes.
func TestReadOnlyMySQLIsNotReady(t *testing.T) {
	t.Parallel()
	admin, dsn := ownMySQL(t)
	i := start(t, environ(t, map[string]string{"MYSQL_DSN": dsn})).ready(t)
	id := i.createCoupon(t, 2)

	admin.MustExec(`SET GLOBAL read_only = ON`)
	eventually(t, func() bool { return i.get(t, "/readyz", "").status == 503 })
	if metrics := i.get(t, "/metrics", "").text; !strings.Contains(metrics, `flashsale_dependency_up{dependency="mysql"} 0`) {
		t.Error("a MySQL that accepts no writes is shown as up")
	}
	wantStatus(t, i.post(t, "/coupons/"+id+"/orders", tokenFor(t, 1, auth.RoleUser), ""), 503)
	if got := i.log.Find("dependency unavailable", "error"); !strings.Contains(got, "read-only") {
		t.Errorf("the log says %q, and nothing of the server's words", got)
	}

	if n := strings.Count(i.log.String(), "dependency unavailable"); n != 1 {
		t.Errorf("the log says %d times that MySQL is unavailable", n)
	}

	admin.MustExec(`SET GLOBAL read_only = OFF`)
	i.ready(t)
	if i.log.Find("dependency available", "dependency") != "mysql" {
		t.Error("the log does not say that MySQL is available again")
	}
	wantStatus(t, i.post(t, "/coupons/"+id+"/orders", tokenFor(t, 2, auth.RoleUser), ""), 201)
}

func TestStartSaysThatMySQLIsReadOnly(t *testing.T) {
	t.Parallel()
	admin, dsn := ownMySQL(t, "--read-only")
	env := environ(t, map[string]string{"MYSQL_DSN": dsn})
	err := run(t.Context(), []string{"migrate"}, from(env), io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("api migrate: %v", err)
	}
	i := begin(t, env)
	eventually(t, func() bool { return strings.Contains(i.log.Find("waiting for MySQL", "error"), "read-only") })
	admin.MustExec(`SET GLOBAL read_only = OFF`)
	i.listening(t)
}

// MySQL, unlike MariaDB, refuses a statement that names such a column, whatever the row.
func TestGeneratedColumnsOfAnAdministratorLeaveTheInstanceReady(t *testing.T) {
	t.Parallel()
	admin, dsn := ownMySQL(t)
	labtest.Migrate(t, admin)
	var tables []string
	check.NoError(t, admin.Select(&tables, `SELECT table_name FROM information_schema.tables
		WHERE table_schema = DATABASE() AND (table_name LIKE 'coupon%' OR table_name = 'locks')`))
	for _, table := range tables {
		admin.MustExec(`ALTER TABLE ` + table + ` ADD COLUMN one INT AS (1) STORED`)
	}
	i := start(t, environ(t, map[string]string{"MYSQL_DSN": dsn, "LOCK": "mysql", "EVENTS": "true"})).ready(t)
	id := i.createCoupon(t, 1)
	wantStatus(t, i.eventuallyPost(t, "/coupons/"+id+"/orders", tokenFor(t, 1, auth.RoleUser), ""), 201)
}

func TestMySQLThatCannotLogClaimsIsNotReady(t *testing.T) {
	t.Parallel()
	admin, dsn := ownMySQL(t, "--log-bin=log", "--server-id=1")
	check.NoError(t, migrations.Up(t.Context(), admin.DB))
	admin.MustExec(`SET GLOBAL binlog_format = STATEMENT`)
	i := begin(t, environ(t, map[string]string{"MYSQL_DSN": dsn}))
	eventually(t, func() bool {
		return strings.Contains(i.log.Find("dependency unavailable", "error"), "BINLOG_FORMAT = STATEMENT")
	})
	i.waitsFor(t, "mysql")
}

// ownMySQL starts a database server for this test alone, with args added to its
// command line. It returns an administrator's connections, and the DSN of a user
// that read_only applies to, for a database of its own.
func ownMySQL(t *testing.T, args ...string) (admin *sqlx.DB, dsn string) {
	t.Helper()
	server, err := lab.StartMySQL(labtest.Lab(t), args...)
	check.NoError(t, err)
	t.Cleanup(server.Kill)
	dsn, err = server.Create(t.Context(), "sale")
	check.NoError(t, err)
	admin = labtest.Open(t, dsn)
	admin.MustExec(`CREATE USER service`)
	admin.MustExec(`GRANT ALL ON sale.* TO service`)
	return admin, strings.Replace(dsn, "root@", "service@", 1)
}
