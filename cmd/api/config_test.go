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

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2"
	for _, env := range []map[string]string{
		{ // malformed settings
			"MYSQL_DSN": "root:" + hidden + "@nowhere", "REDIS_URL": "redis://:" + hidden + "@[::1",
			"JWT_SECRET": hidden, "JWT_SECRETS": "a=" + hidden,
		},
		{ // a password where none is supported
			"MYSQL_DSN": "root@tcp(db)/x", "REDIS_URL": "redis://r", "JWT_SECRET": secret,
			"LOCK": "etcd", "ETCD_ADDR": "http://root:" + hidden + "@127.0.0.1:1",
		},
		{ // valid settings, and no server at the addresses
			"HTTP_ADDR": "127.0.0.1:0", "MYSQL_DSN": "root:" + hidden + "@tcp(127.0.0.1:1)/x",
			"REDIS_URL": "redis://:" + hidden + "@127.0.0.1:1/0", "JWT_SECRET": strings.Repeat(hidden, 5),
			"JWT_SECRETS": "a=" + strings.Repeat(hidden, 5), "LOG_LEVEL": "debug",
		},
	} {
		ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
		log := new(labtest.Log)
		err := run(ctx, nil, from(env), log, log)
		stop()
		if strings.Contains(log.String(), hidden) || err != nil && strings.Contains(err.Error(), hidden) {
			t.Errorf("a secret was printed: %v\n%s", err, log)
		}
		if err == nil && !strings.Contains(log.String(), "waiting for MySQL") {
			t.Errorf("the service did not try to connect: %s", log)
		}
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

// The commands that need one setting read it from its file as well.
func TestCommandsReadSecretsFromFiles(t *testing.T) {
	t.Parallel()
	env := environ(t, nil)
	file := writeFile(t, env["MYSQL_DSN"]+"\n")
	if err := run(t.Context(), []string{"migrate"}, from(map[string]string{"MYSQL_DSN_FILE": file}), io.Discard,
		io.Discard); err != nil {
		t.Errorf("migrate: %v", err)
	}
	arguments := []string{"token", "--user", "42"}
	if err := run(t.Context(), arguments, from(map[string]string{"JWT_SECRET_FILE": writeFile(t, secret)}), io.Discard,
		io.Discard); err != nil {
		t.Errorf("token: %v", err)
	}
	quoted := from(map[string]string{"MYSQL_DSN": `"root@tcp(db)/x"`, "JWT_SECRET": "'" + secret + "'",
		"HTTP_ADDR": ":1 "})
	for _, command := range [][]string{{"migrate"}, arguments, {"health"}} {
		if err := run(t.Context(), command, quoted, io.Discard, io.Discard); err == nil ||
			!strings.Contains(err.Error(), "is in quotes") && !strings.Contains(err.Error(), "has a blank at an end") {
			t.Errorf("%s: %v", command[0], err)
		}
	}
	for _, command := range [][]string{{"migrate"}, arguments} {
		missing := map[string]string{"MYSQL_DSN_FILE": "/nowhere", "JWT_SECRET_FILE": "/nowhere"}
		if err := run(t.Context(), command, from(missing), io.Discard, io.Discard); err == nil ||
			!strings.Contains(err.Error(), "_FILE cannot be read") {
			t.Errorf("%s: %v", command[0], err)
		}
	}
}
