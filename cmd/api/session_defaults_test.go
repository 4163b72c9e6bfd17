package main

import (
	"fmt"
	"maps"
	"testing"

	"example.com/flashsale/internal/auth"
)

// An administrator has given the sessions of the server other defaults, for other
// clients of it.
func TestServersSessionDefaultsBreakNothing(t *testing.T) {
	t.Parallel()
	admin, dsn := ownMySQL(t)
	for _, change := range []string{"autocommit = 0", "sql_select_limit = 1", "time_zone = '+08:00'",
		"max_join_size = 1", "TRANSACTION READ ONLY",
		"/*!80000 max_execution_time = 1 */ /*M! max_statement_time = 0.001 */"} {
		admin.MustExec("SET GLOBAL " + change)
	}
	env := environ(t, map[string]string{"MYSQL_DSN": dsn, "CLAIM_TIMEOUT": "30s"})
	for _, completion := range []string{"CHAIN", "RELEASE"} {
		admin.MustExec("SET GLOBAL completion_type = '" + completion + "'")
		for _, lock := range []string{"redis", "mysql", "getlock"} {
			env["LOCK"] = lock
			i := start(t, maps.Clone(env)).ready(t)
			coupons := []string{i.createCoupon(t, 20), i.createCoupon(t, 20)}
			for user := range int64(40) {
				r := i.post(t, "/coupons/"+coupons[user%2]+"/orders", tokenFor(t, user+1, auth.RoleUser), "")
				if r.status != 201 {
					t.Fatalf("completion_type = %s, LOCK=%s: claim of user %d: %+v", completion, lock, user+1, r)
				}
			}
		}
	}
}

// In GBK, which the server gives each connection, the name would write the other
// columns of its row.
func TestNameOfACouponIsItsNameWhateverTheServersCharacterSet(t *testing.T) {
	t.Parallel()
	const name = `减',20200101,20900101,1,3,20200101)# 😀`
	for _, arg := range []string{"--init-connect=SET NAMES gbk", "--character-set-server=gbk"} {
		_, dsn := ownMySQL(t, arg, "--loose-skip-character-set-client-handshake")
		i := start(t, environ(t, map[string]string{"MYSQL_DSN": dsn})).ready(t)
		admin := tokenFor(t, 1, auth.RoleAdmin)
		r := i.post(t, "/coupons", admin, `{"name":"`+name+
			`","begin_time":"2025-01-01T00:00:00Z","end_time":"2090-01-01T00:00:00Z","stock":5}`)
		r = i.get(t, "/coupons/"+fmt.Sprint(r.body["id"]), admin)
		if r.body["name"] != name || r.body["stock"] != 5.0 {
			t.Errorf("%s: %+v", arg, r)
		}
	}
}
