package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/migrations"
)

func from(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

// The settings are valid, and no server is at the addresses.
func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2"
	log := new(labtest.Log)
	ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer stop()
	err := run(ctx, nil, from(map[string]string{
		"HTTP_ADDR": "127.0.0.1:0", "MYSQL_DSN": "root:" + hidden + "@tcp(127.0.0.1:1)/x",
		"REDIS_URL": "redis://:" + hidden + "@127.0.0.1:1/0", "JWT_SECRET": strings.Repeat(hidden, 5),
		"JWT_SECRETS": "a=" + strings.Repeat(hidden, 5), "LOG_LEVEL": "debug",
	}), log, log)
	if err != nil || strings.Contains(log.String(), hidden) {
		t.Errorf("a secret was printed, or %v\n%s", err, log)
	}
	if !strings.Contains(log.String(), "waiting for MySQL") {
		t.Errorf("the service did not try to connect: %s", log)
	}
}

// Partitioning by date forces the second key on an operator.
func TestUniqueKeyIsRequired(t *testing.T) {
	t.Parallel()
	env := environ(t, nil)
	check.NoError(t, run(t.Context(), []string{"migrate"}, from(env), io.Discard, io.Discard))
	for _, change := range []string{"DROP KEY one_each", "ADD UNIQUE KEY one_each (coupon_id, user_id, created_at)"} {
		labtest.Open(t, env["MYSQL_DSN"]).MustExec("ALTER TABLE coupon_orders " + change)
		for _, command := range []string{"serve", "migrate"} {
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			err := run(ctx, []string{command}, from(env), io.Discard, io.Discard)
			if !errors.Is(err, migrations.ErrUnguarded) {
				t.Errorf("%s: %s ends with %v", change, command, err)
			}
		}
	}
	env["LAB"], env["COMMIT"], env["GUARDS_OFF"] = "true", "each", "unique"
	start(t, env).ready(t)
}

// writeFile writes a file of the test, and returns its path.
func writeFile(tb testing.TB, content string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "setting")
	check.NoError(tb, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestCommandsRefuseSettingsAsTheServiceDoes(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"migrate", "token --user 42"} {
		for problem, env := range map[string]map[string]string{
			"is in quotes":         {"MYSQL_DSN": `"root@tcp(db)/x"`, "JWT_SECRET": "'" + secret + "'"},
			"_FILE cannot be read": {"MYSQL_DSN_FILE": "/nowhere", "JWT_SECRET_FILE": "/nowhere"},
		} {
			err := run(t.Context(), strings.Fields(command), from(env), io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %v, want %s", command, err, problem)
			}
		}
	}
}
