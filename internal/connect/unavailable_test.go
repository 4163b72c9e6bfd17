package connect_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/transaction"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.RedisServer) }

func TestPausedAndKilledServersAreUnavailable(t *testing.T) {
	t.Parallel()
	server := labtest.MySQL(t)
	db := labtest.Open(t, labtest.EmptyDatabase(t, server))
	redis := labtest.Redis(t)
	rdb := labtest.Dial(t, redis)
	calls := map[string]func(context.Context) error{
		"mysql": func(ctx context.Context) error { _, err := db.ExecContext(ctx, "DO 1"); return err },
		"redis": func(ctx context.Context) error { return rdb.Ping(ctx).Err() },
	}
	are := func(state string, want bool) {
		for name, call := range calls {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			if err := call(ctx); connect.IsUnavailable(err) != want {
				t.Errorf("%s %s: IsUnavailable(%v) = %v, want %v", name, state, err, !want, want)
			}
			cancel()
		}
	}
	are("running", false)
	server.Pause()
	redis.Pause()
	are("paused", true)
	server.Resume()
	redis.Resume()
	server.Kill()
	redis.Kill()
	are("killed", true)
}

// A proxy has lost its server, or a rule that an administrator has added refuses a row.
func TestReplyThatAnAdministratorCanMendIsUnavailable(t *testing.T) {
	t.Parallel()
	for number, state := range map[uint16]string{
		1038: "HY001", 1049: "42000", 1105: "HY000", 1927: "70100", 2006: "HY000", 2013: "HY000",
		1364: "HY000", 1366: "HY000", 1452: "23000", 1526: "HY000", 1644: "45000", 3819: "HY000", 4025: "23000",
	} {
		if !connect.IsUnavailable(&mysql.MySQLError{Number: number, SQLState: [5]byte([]byte(state))}) {
			t.Errorf("error %d is not unavailable", number)
		}
	}
	db := labtest.DB(t)
	for _, restore := range []string{`ALTER TABLE coupon_changes DISCARD TABLESPACE`, `DROP TABLE coupon_changes`} {
		db.MustExec(restore)
		if _, err := db.Exec(`SELECT * FROM coupon_changes`); !connect.IsUnavailable(err) {
			t.Errorf("after %s: %v", restore, err)
		}
	}
}

// refusals are the ways in which a running Redis refuses every write, each with
// the command that leads there. The keys are the prefixes of the errors.
var refusals = map[string][]any{
	"NOAUTH":     {"CONFIG", "SET", "requirepass", "secret"},
	"NOPERM":     {"ACL", "SETUSER", "default", "-incr"},
	"OOM":        {"CONFIG", "SET", "maxmemory", "1"},
	"NOREPLICAS": {"CONFIG", "SET", "min-replicas-to-write", "1"},
}

func TestRedisThatRefusesWritesIsUnavailable(t *testing.T) {
	t.Parallel()
	for prefix, command := range refusals {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			server := labtest.Redis(t)
			check.NoError(t, labtest.Dial(t, server).Do(t.Context(), command...).Err())
			wantRefusal(t, labtest.Dial(t, server), prefix)
		})
	}
	t.Run("renamed", func(t *testing.T) {
		t.Parallel()
		rdb := labtest.Dial(t, labtest.Redis(t, "--rename-command", "INCR", ""))
		wantRefusal(t, rdb, "unknown command")
		if err := rdb.Eval(t.Context(), "return redis.call('INCR', 'k')", nil).Err(); !connect.IsUnavailable(err) {
			t.Errorf("in a script: %v", err)
		}
	})
	t.Run("BUSY", func(t *testing.T) {
		t.Parallel()
		rdb := labtest.Dial(t, labtest.Redis(t, "--busy-reply-threshold", "1"))
		rdb.Eval(t.Context(), "while true do end", nil) // until the client's timeout
		wantRefusal(t, rdb, "BUSY ")
	})
	t.Run("WRONGPASS", func(t *testing.T) {
		t.Parallel()
		wantRefusal(t, labtest.DialURL(t, strings.Replace(labtest.Redis(t).URL, "://", "://stranger:wrong@", 1)),
			"WRONGPASS")
	})
	t.Run("WRONGTYPE", func(t *testing.T) { // a neighbour has the key
		t.Parallel()
		rdb := labtest.Dial(t, labtest.Redis(t))
		check.NoError(t, rdb.LPush(t.Context(), "k", 1).Err())
		wantRefusal(t, rdb, "WRONGTYPE")
	})
	t.Run("certificate", func(t *testing.T) { // of an authority that is not trusted
		t.Parallel()
		server := httptest.NewUnstartedServer(nil)
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		defer server.Close()
		rdb := labtest.DialURL(t, strings.Replace(server.URL, "https", "rediss", 1))
		if err := rdb.Ping(t.Context()).Err(); !connect.IsUnavailable(err) {
			t.Error(err)
		}
	})
	t.Run("MISCONF", func(t *testing.T) {
		t.Parallel()
		rdb := labtest.Dial(t, labtest.Redis(t, "--save", "3600 1"))
		dir := rdb.ConfigGet(t.Context(), "dir").Val()["dir"]
		check.NoError(t, os.Mkdir(filepath.Join(dir, "dump.rdb"), 0o700)) // where the snapshot is to be
		check.NoError(t, rdb.BgSave(t.Context()).Err())
		check.Eventually(t, "the snapshot fails", func() bool { return rdb.Incr(t.Context(), "k").Err() != nil })
		wantRefusal(t, rdb, "MISCONF")
	})
}

func wantRefusal(tb testing.TB, rdb redis.UniversalClient, prefix string) {
	tb.Helper()
	err := rdb.Incr(tb.Context(), "k").Err()
	if !redis.HasErrorPrefix(err, prefix) || !connect.IsUnavailable(fmt.Errorf("incr: %w", err)) {
		tb.Errorf("got %v, want an unavailable server and %s", err, prefix)
	}
}

// An administrator may mend each while the service waits.
func TestEveryRefusalOfAConnectionIsUnavailable(t *testing.T) {
	t.Parallel()
	server := labtest.SharedMySQL(t)
	admin := labtest.Open(t, labtest.EmptyDatabase(t, server))
	for name, account := range map[string]string{
		"wrong_password": `IDENTIFIED BY 'other'`, "no_right": ``, "locked": `ACCOUNT LOCK`,
		"expired": `PASSWORD EXPIRE`, "tls": `REQUIRE SSL`, "limit": `WITH MAX_USER_CONNECTIONS 1`,
	} {
		admin.MustExec("CREATE USER `" + name + "` " + account)
		if name != "no_right" {
			admin.MustExec("GRANT ALL ON *.* TO `" + name + "`")
		}
		dsn := strings.Replace(server.DSN("mysql"), "root@", name+"@", 1)
		if name == "limit" {
			held, err := labtest.Open(t, dsn).Connx(t.Context())
			check.NoError(t, err)
			defer held.Close()
		}
		wantUnavailable(t, name, labtest.Open(t, dsn+"?timeout=2s")) // how long it tries at the limit
	}
	wantUnavailable(t, "no such database", labtest.Open(t, server.DSN("nowhere")))
	wantUnavailable(t, "TLS", labtest.Open(t, server.DSN("mysql")+"?tls=true"))
	wantUnavailable(t, "variable", labtest.Open(t, server.DSN("mysql")+"?no_such_variable=1"))
}

func wantUnavailable(tb testing.TB, name string, db *sqlx.DB) {
	tb.Helper()
	switch err := db.PingContext(tb.Context()); {
	case err == nil:
		tb.Errorf("%s: the server gives a connection", name)
	case !connect.IsUnavailable(fmt.Errorf("begin: %w", err)),
		transaction.IsConflict(err) != errors.Is(err, driver.ErrBadConn):
		tb.Errorf("%s: %v", name, err)
	}
}

func TestOtherErrorsAreNotUnavailable(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	rdb := labtest.Dial(t, labtest.Redis(t))
	_, syntax := db.Exec("GIMME")
	_, column := db.Exec("SELECT nothing FROM coupons")
	for _, err := range []error{nil, errors.New("any other"), syntax, column, rdb.Get(t.Context(), "k").Err()} {
		if connect.IsUnavailable(err) {
			t.Errorf("IsUnavailable(%v) = true", err)
		}
	}
}
