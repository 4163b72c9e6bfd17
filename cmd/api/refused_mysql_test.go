package main

import (
	"io"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/migrations"
)

// An administrator locks the account, takes a right, changes the password, or makes the server a
// replica, and mends it: the service waits, at the start and later, and says what the server says.
func TestMySQLThatRefusesTheServiceIsNotReadyUntilItIsMended(t *testing.T) {
	t.Parallel()
	admin, dsn := ownMySQL(t)
	labtest.Migrate(t, admin)
	for name, change := range map[string]struct {
		refuse, mend, words string
		read                int // the status of requests that only read
	}{
		"password":  {`ALTER USER service IDENTIFIED BY 'new'`, `ALTER USER service IDENTIFIED BY ''`, "Access denied", 503},
		"right":     {`REVOKE ALL ON sale.* FROM service`, `GRANT ALL ON sale.* TO service`, "denied", 503},
		"locked":    {`ALTER USER service ACCOUNT LOCK`, `ALTER USER service ACCOUNT UNLOCK`, "locked", 503},
		"read-only": {`SET GLOBAL read_only = ON`, `SET GLOBAL read_only = OFF`, "read-only", 200},
	} {
		t.Run(name, func(t *testing.T) {
			admin.MustExec(change.refuse)
			env := environ(t, map[string]string{"MYSQL_DSN": dsn, "COUPON_CACHE": "0s"})
			err := run(t.Context(), []string{"migrate"}, from(env), io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), change.words) {
				t.Errorf("api migrate: %v", err)
			}
			i := begin(t, env)
			eventually(t, func() bool {
				return strings.Contains(i.log.Find("waiting for MySQL", "error"), change.words)
			})
			admin.MustExec(change.mend)
			i.listening(t).ready(t)
			id := i.createCoupon(t, 9)

			admin.MustExec(change.refuse)
			killConnections(t, admin)
			i.wantRefused(t, id, change.read)
			eventually(t, func() bool { return i.log.Says("dependency unavailable", "error", change.words) })
			admin.MustExec(change.mend)
			i.ready(t)
			eventually(t, func() bool { return i.log.Says("dependency available", "dependency", "mysql") })
			wantStatus(t, i.eventuallyPost(t, "/coupons/"+id+"/orders", tokenFor(t, 2, auth.RoleUser), ""), 201)
		})
	}
}

// After a switchover nothing is read from the former primary, which still replies to who only reads.
func TestReadsFollowASwitchover(t *testing.T) {
	t.Parallel()
	former, dsn := ownMySQL(t)
	_, nextDSN := ownMySQL(t)
	proxy, through := labtest.ProxiedMySQL(t, dsn)
	i := start(t, environ(t, map[string]string{"MYSQL_DSN": through, "COUPON_CACHE": "0s"})).ready(t)
	i.createCoupon(t, 9)
	id := start(t, environ(t, map[string]string{"MYSQL_DSN": nextDSN})).ready(t).createCoupon(t, 9)

	next, err := mysql.ParseDSN(nextDSN)
	check.NoError(t, err)
	former.MustExec(`SET GLOBAL read_only = ON`)
	eventually(t, func() bool { return i.log.Says("dependency unavailable", "error", "read-only") })
	proxy.Retarget(next.Addr)
	i.ready(t)
	wantStatus(t, i.get(t, "/coupons/"+id, tokenFor(t, 1, auth.RoleUser)), 200)
}

// wantRefused checks what the instance replies while MySQL refuses it. That is no error of the service.
func (i *instance) wantRefused(t *testing.T, couponID string, read int) {
	t.Helper()
	eventually(t, func() bool { return i.get(t, "/readyz", "").status == 503 })
	const up = `flashsale_dependency_up{dependency="mysql"} 1`
	if strings.Contains(i.get(t, "/metrics", "").text, up) {
		t.Error("a MySQL that refuses the service is shown as up")
	}
	user := tokenFor(t, 1, auth.RoleAdmin)
	for _, path := range []string{"/coupons/" + couponID, "/coupons"} {
		eventually(t, func() bool { return i.get(t, path, user).status == read })
	}
	wantStatus(t, i.post(t, "/coupons/"+couponID+"/stock", user, `{"add":1}`), 503)
	wantStatus(t, i.post(t, "/coupons/"+couponID+"/orders", user, ""), 503)
	if strings.Contains(i.log.String(), `"level":"ERROR"`) {
		t.Error("an error is logged")
	}
}

// killConnections closes the connections of the account service.
func killConnections(t *testing.T, admin *sqlx.DB) {
	t.Helper()
	var ids []int64
	check.NoError(t, admin.Select(&ids, `SELECT id FROM information_schema.processlist WHERE user = 'service'`))
	for _, id := range ids {
		_, _ = admin.Exec(`KILL ?`, id) // it may have ended
	}
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
	wantStatus(t, i.eventuallyPost(t, "/coupons/"+id+"/orders", tokenFor(t, 2, auth.RoleUser), ""), 201)
}

func TestMySQLThatCannotLogClaimsIsNotReady(t *testing.T) {
	t.Parallel()
	admin, dsn := ownMySQL(t, "--log-bin=log", "--server-id=1")
	check.NoError(t, migrations.Up(t.Context(), admin.DB))
	admin.MustExec(`SET GLOBAL binlog_format = STATEMENT`)
	i := begin(t, environ(t, map[string]string{"MYSQL_DSN": dsn}))
	eventually(t, func() bool {
		return i.log.Says("dependency unavailable", "error", "BINLOG_FORMAT = STATEMENT")
	})
	i.waitsFor(t, "mysql")
}

func TestMySQLThatMayLoseOrdersIsWarnedOf(t *testing.T) {
	t.Parallel()
	admin, dsn := ownMySQL(t, "--log-bin=log")
	warns := func(variable, value string) bool {
		i := start(t, environ(t, map[string]string{"MYSQL_DSN": dsn})).ready(t)
		return i.log.Says(undurable, variable, value)
	}
	if warns("log_bin", "") {
		t.Error("warned of a server that loses nothing")
	}
	for _, variable := range []string{"innodb_flush_log_at_trx_commit", "sync_binlog"} {
		admin.MustExec(`SET GLOBAL ` + variable + ` = 0`)
		if !warns(variable, "0") {
			t.Errorf("%s = 0: no warning", variable)
		}
		admin.MustExec(`SET GLOBAL ` + variable + ` = 1`)
	}
	if _, dsn = ownMySQL(t, "--skip-log-bin"); !warns("log_bin", "OFF") {
		t.Error("without a binary log: no warning")
	}
}

// MySQL Router refuses LAST_INSERT_ID where clients share connections, Percona XtraDB Cluster GET_LOCK
// in its default mode: no claim could be made.
func TestProxyThatRefusesTheLockIsNotReady(t *testing.T) {
	t.Parallel()
	for name, function := range map[string]string{"mysql": "LAST_INSERT_ID", "getlock": "GET_LOCK"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, dsn := labtest.ProxiedMySQL(t, labtest.DSN(t))
			for range 100 {
				proxy.Refuse(function, faultproxy.MySQLError(3566, "Access to native function is rejected"))
			}
			i := begin(t, environ(t, map[string]string{"MYSQL_DSN": dsn, "LOCK": name, "MIGRATE": "false"}))
			eventually(t, func() bool { return i.log.Says("dependency unavailable", "error", "native function") })
			i.waitsFor(t, "mysql")
		})
	}
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
