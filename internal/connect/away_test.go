package connect_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }

func TestAwayKnowsAMissingServer(t *testing.T) {
	t.Parallel()
	server := labtest.MySQL(t)
	db := labtest.Open(t, labtest.EmptyDatabase(t, server))
	redis := labtest.Redis(t)
	rdb := labtest.Dial(t, redis)
	ask := map[string]func(context.Context) error{
		"mysql": func(ctx context.Context) error { _, err := db.ExecContext(ctx, "DO 1"); return err },
		"redis": func(ctx context.Context) error { return rdb.Ping(ctx).Err() },
	}
	check := func(state string, want bool) {
		for name, f := range ask {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			if err := f(ctx); connect.Away(err) != want {
				t.Errorf("%s %s: %v", name, state, err)
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

func TestAwayIsNotAnyError(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	rdb := labtest.Dial(t, labtest.Redis(t))
	_, syntax := db.Exec("GIMME")
	_, table := db.Exec("INSERT INTO nowhere VALUES (1)")
	rdb.Set(t.Context(), "k", "text", 0)
	for _, err := range []error{nil, errors.New("who knows"), syntax, table, rdb.Incr(t.Context(), "k").Err()} {
		if connect.Away(err) {
			t.Errorf("%v is taken for a missing server", err)
		}
	}
}

func TestErrorsQuoteNoPassword(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2"
	_, dsn := connect.MySQL("root:"+hidden+"@nowhere", 1)
	_, base := connect.MySQL("root:"+hidden+"@tcp(db)/", 1)
	_, url := connect.Redis("redis://:"+hidden+"@[::1", 1)
	for _, err := range []error{dsn, base, url} {
		if err == nil || strings.Contains(err.Error(), hidden) {
			t.Errorf("got %v", err)
		}
	}
}
