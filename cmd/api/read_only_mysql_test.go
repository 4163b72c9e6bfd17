package main

import (
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
