package connect_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }

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
	check := func(state string, want bool) {
		for name, call := range calls {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			if err := call(ctx); connect.IsUnavailable(err) != want {
				t.Errorf("%s %s: IsUnavailable(%v) = %v, want %v", name, state, err, !want, want)
			}
			cancel()
		}
	}
	check("running", false)
	server.Pause()
	redis.Pause()
	check("paused", true)
	server.Resume()
	redis.Resume()
	server.Kill()
	redis.Kill()
	check("killed", true)
}

func TestServerLostByAProxyIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, number := range []uint16{1105, 1927, 2006, 2013} {
		if !connect.IsUnavailable(&mysql.MySQLError{Number: number}) {
			t.Errorf("error %d is not unavailable", number)
		}
	}
}

func TestOtherErrorsAreNotUnavailable(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	rdb := labtest.Dial(t, labtest.Redis(t))
	_, syntax := db.Exec("GIMME")
	_, table := db.Exec("INSERT INTO nowhere VALUES (1)")
	rdb.Set(t.Context(), "k", "text", 0)
	for _, err := range []error{nil, errors.New("any other"), syntax, table, rdb.Incr(t.Context(), "k").Err()} {
		if connect.IsUnavailable(err) {
			t.Errorf("IsUnavailable(%v) = true", err)
		}
	}
}
