package main

import (
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
)

// An administrator locks the account, takes a right or changes the password, and mends
// it: the service waits, at the start and later, and says what the server says.
func TestRefusedAccountIsUnavailableUntilItIsMended(t *testing.T) {
	t.Parallel()
	admin, dsn := ownMySQL(t)
	labtest.Migrate(t, admin)
	for name, change := range map[string]struct{ refuse, mend, words string }{
		"password": {`ALTER USER service IDENTIFIED BY 'new'`, `ALTER USER service IDENTIFIED BY ''`, "Access denied"},
		"right":    {`REVOKE ALL ON sale.* FROM service`, `GRANT ALL ON sale.* TO service`, "denied"},
		"locked":   {`ALTER USER service ACCOUNT LOCK`, `ALTER USER service ACCOUNT UNLOCK`, "locked"},
	} {
		t.Run(name, func(t *testing.T) {
			admin.MustExec(change.refuse)
			i := begin(t, environ(t, map[string]string{"MYSQL_DSN": dsn, "COUPON_CACHE": "0s"}))
			eventually(t, func() bool {
				return strings.Contains(i.log.Find("waiting for MySQL", "error"), change.words)
			})
			admin.MustExec(change.mend)
			i.listening(t).ready(t)
			id := i.createCoupon(t, 9)

			admin.MustExec(change.refuse)
			killConnections(t, admin)
			user := tokenFor(t, 1, auth.RoleAdmin)
			for path, r := range map[string]response{
				"read": i.get(t, "/coupons/"+id, user), "list": i.get(t, "/coupons", user),
				"create": i.post(t, "/coupons", user,
					`{"name":"n","begin_time":"2020-01-01T00:00:00Z","end_time":"2090-01-01T00:00:00Z","stock":9}`),
				"claim": i.post(t, "/coupons/"+id+"/orders", user, ""), "ready": i.get(t, "/readyz", ""),
			} {
				if r.status != 503 {
					t.Errorf("%s: %+v", path, r)
				}
			}
			if strings.Contains(i.log.String(), `"level":"ERROR"`) {
				t.Error("an error is logged")
			}
			admin.MustExec(change.mend)
			i.listening(t).ready(t)
		})
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
