package main

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMigrateGoesUpAndDown(t *testing.T) {
	t.Parallel()
	dsn := labtest.EmptyDatabase(t, labtest.SharedMySQL(t))
	env := from(map[string]string{"MYSQL_DSN_FILE": writeFile(t, dsn+"\n")})
	db := labtest.Open(t, dsn)
	tables := func() (n int) {
		const q = `SELECT COUNT(*) FROM information_schema.tables
			WHERE table_schema = DATABASE() AND table_name IN ('coupons', 'coupon_orders')`
		check.NoError(t, db.Get(&n, q))
		return n
	}
	for _, step := range []struct {
		args []string
		want int
	}{{[]string{"migrate"}, 2}, {[]string{"migrate", "up"}, 2}, {[]string{"migrate", "down"}, 0},
		{[]string{"migrate", "up"}, 2}} {
		if err := run(t.Context(), step.args, env, io.Discard, io.Discard); err != nil {
			t.Fatalf("%v: %v", step.args, err)
		}
		if got := tables(); got != step.want {
			t.Errorf("%v: %d tables, want %d", step.args, got, step.want)
		}
	}
}

func TestPrintedTokenIsAccepted(t *testing.T) {
	t.Parallel()
	env := environ(t, map[string]string{
		"JWT_SECRET": "", "JWT_ISSUER": "login", "JWT_AUDIENCE": "sale",
		"JWT_SECRETS_FILE": writeFile(t,
			"new=a secret of thirty-two bytes and more,old=another secret of 32 bytes and more"),
	})
	i := start(t, env).ready(t)
	for _, step := range []struct {
		args []string
		want int
	}{{[]string{"token", "--user", "42"}, 403}, {[]string{"token", "--user", "1", "--admin"}, 404}} {
		var out strings.Builder
		check.NoError(t, run(t.Context(), step.args, from(env), &out, io.Discard))
		wantStatus(t, i.get(t, "/coupons/1/audit", strings.TrimSpace(out.String())), step.want)
	}
}

func TestIDIsExplained(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	check.NoError(t, run(t.Context(), []string{"id", "120420635187871745"}, from(nil), &out, io.Discard))
	if want := "120420635187871745: number 1 of its UTC day, made at 2026-11-21T12:13:34Z\n"; out.String() != want {
		t.Errorf("got %q, want %q", &out, want)
	}
}

func TestHealthFollowsReadiness(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "s") // t.TempDir may be too long for a socket
	check.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	env := environ(t, map[string]string{"HTTP_ADDR": "unix:" + filepath.Join(dir, "api")})
	health := func() error { return run(t.Context(), []string{"health"}, from(env), io.Discard, io.Discard) }
	if err := health(); err == nil {
		t.Error("health succeeds before the service runs")
	}
	// The socket that a killed instance leaves must not stop the next one.
	killed, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "api")})
	check.NoError(t, err)
	killed.SetUnlinkOnClose(false)
	check.NoError(t, killed.Close())
	i := start(t, env)
	eventually(t, func() bool { return health() == nil })
	if _, err := listen(env["HTTP_ADDR"]); err == nil {
		t.Error("a second instance took the socket of a running one")
	}
	i.end(t)
	if err := health(); err == nil {
		t.Error("health succeeds after the service has ended")
	}
}

// The pipe of its log is full from the start, and then has no reader.
func TestNeitherAHangupNorALogThatNobodyReadsEndsAnInstance(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "s")
	check.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	env := environ(t, map[string]string{"HTTP_ADDR": "unix:" + filepath.Join(dir, "api"), "ACCESS_LOG": "1"})
	process := exec.Command(labtest.API(t))
	for name, value := range env {
		process.Env = append(process.Env, name+"="+value)
	}
	reader, log, err := os.Pipe()
	check.NoError(t, err)
	fd := int(log.Fd())
	for err = syscall.SetNonblock(fd, true); err == nil; {
		_, err = syscall.Write(fd, make([]byte, 512))
	}
	check.NoError(t, syscall.SetNonblock(fd, false))
	process.Stderr = log
	stopWatch, err := lab.StartChild(process)
	check.NoError(t, err)
	defer stopWatch()
	eventually(t, func() bool {
		return run(t.Context(), []string{"health"}, from(env), io.Discard, io.Discard) == nil
	})
	check.NoError(t, reader.Close())
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} { // when it drains, it logs so
		check.NoError(t, process.Process.Signal(signal))
	}
	check.NoError(t, process.Wait())
}

func TestWrongUsageIsAnError(t *testing.T) {
	t.Parallel()
	env := from(map[string]string{"JWT_SECRET": secret})
	for _, args := range []string{
		"dance", "migrate sideways", "migrate", "token", "token --user 0", "token --user x", "id", "id x", "id 0",
		"serve --port 8080", "health now", "version 2",
	} {
		if err := run(t.Context(), strings.Fields(args), env, io.Discard, io.Discard); err == nil {
			t.Errorf("api %s: no error", args)
		}
	}
	if err := run(t.Context(), []string{"token", "--user", "42"}, from(nil), io.Discard, io.Discard); err == nil {
		t.Error("a token is printed without JWT_SECRET")
	}
}
