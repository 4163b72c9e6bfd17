package connect_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab/labtest"
)

// A burst at one pool takes all connections of the account, and keeps them idle.
func TestPoolsMakeDoWithTheConnectionsOfTheirAccount(t *testing.T) {
	t.Parallel()
	server := labtest.MySQL(t, "--max-user-connections=100")
	admin := labtest.Open(t, labtest.EmptyDatabase(t, server))
	admin.MustExec(`CREATE USER unlimited`)
	for limit := range 4 {
		user := fmt.Sprint("limited", limit+1)
		admin.MustExec(fmt.Sprintf(`CREATE USER %s WITH MAX_USER_CONNECTIONS %d`, user, limit+1))
		dsn := strings.Replace(server.DSN(""), "root@", user+"@", 1) + "information_schema"
		account := new(connect.Account)
		reads := labtest.Open(t, dsn, connect.SharedBy(account))
		batches := labtest.Open(t, dsn, connect.SharedBy(account))
		for range 3 {
			burst(t, user, reads)
			burst(t, user, batches)
		}
		burst(t, user, reads, batches)
		_ = reads.Close()
		_ = batches.Close()
	}
	for _, limit := range []string{"max_connections = 12", "max_user_connections = 3"} { // 1040 and 1203
		admin.MustExec(`SET GLOBAL ` + limit)
		dsn := strings.Replace(server.DSN("information_schema"), "root@", "unlimited@", 1)
		db := labtest.Open(t, dsn)
		burst(t, limit, db)
		_ = db.Close()
	}
}

// burst makes more calls at once than there may be connections.
func burst(t *testing.T, name string, pools ...*sqlx.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	check.AtOnce(60, func(i int) {
		if _, err := pools[i%len(pools)].ExecContext(ctx, `DO SLEEP(0.003)`); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
}
