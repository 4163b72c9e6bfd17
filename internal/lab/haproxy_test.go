package lab_test

import (
	"testing"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// serverID returns the id of the server that replies to db, or 0 if none does.
func serverID(t *testing.T, db sqlx.QueryerContext) (id int) {
	t.Helper()
	if err := sqlx.GetContext(t.Context(), db, &id, "SELECT @@server_id"); err != nil {
		return 0
	}
	return id
}

// The servers' @@server_id is 1 and 2.
func TestHAProxyRoutesToOneWriterOrToAll(t *testing.T) {
	t.Parallel()
	var servers []*lab.MySQL
	for _, id := range []string{"1", "2"} {
		m := labtest.Start(t, func(l *lab.Lab) (*lab.MySQL, error) { return lab.StartMySQLTCP(l, "--server-id="+id) })
		servers = append(servers, m)
	}
	behind := func(routing lab.Routing) *sqlx.DB {
		proxy := labtest.Start(t, func(l *lab.Lab) (*lab.HAProxy, error) {
			return lab.StartHAProxy(l, nil, routing, servers...)
		})
		return labtest.Open(t, proxy.DSN("mysql"))
	}
	oneWriterIsTheFirst(t, labtest.Open(t, servers[0].DSN("mysql")), behind(lab.OneWriter))
	allShareTheConnections(t, servers[0], behind(lab.AllWriters))
}

func oneWriterIsTheFirst(t *testing.T, first, db *sqlx.DB) {
	for _, step := range []struct{ readOnly, want int }{{0, 1}, {1, 2}, {0, 1}} {
		first.MustExec("SET GLOBAL read_only = ?", step.readOnly)
		check.Eventually(t, "the connections lead to the other server",
			func() bool { return serverID(t, db) == step.want })
	}
}

func allShareTheConnections(t *testing.T, first *lab.MySQL, db *sqlx.DB) {
	db.SetMaxIdleConns(0)                                                // each attempt opens new ones
	check.Eventually(t, "of eight connections four lead to each server", // one may fail its first checks
		func() bool { seen := connections(t, db, 8); return seen[1] == 4 && seen[2] == 4 })
	first.Kill()
	check.Eventually(t, "all connections lead to the server that is left",
		func() bool { return serverID(t, db) == 2 })
}

// connections opens n connections at a time, and returns how many lead to each
// server. Those that lead to none are missing.
func connections(t *testing.T, db *sqlx.DB, n int) map[int]int {
	t.Helper()
	seen := map[int]int{}
	for range n {
		conn, err := db.Connx(t.Context())
		if err != nil {
			continue
		}
		defer conn.Close()
		seen[serverID(t, conn)]++
	}
	return seen
}
