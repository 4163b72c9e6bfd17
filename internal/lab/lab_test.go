package lab_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	if os.Getenv("LAB_TEST_CHILD") != "" {
		runUntilKilled()
	}
	labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.NginxServer, lab.HAProxyServer, lab.NetworkTools,
		lab.GaleraLibrary, lab.CCompiler, lab.EtcdServer)
}

// resources are what a lab could leave behind when its process is killed.
type resources struct {
	Dir       string
	Addresses [][2]string // network, address
	FIFO      string      // has a reader, which does not listen
}

// must returns v, for the child process, which has no testing.TB.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// runUntilKilled opens a lab, starts a database, a Redis and an nginx in it, prints
// the lab's resources and blocks.
func runUntilKilled() {
	l := must(lab.Open())
	left := resources{Dir: must(l.Dir("x"))}
	redis := must(lab.StartRedis(l))
	nginx := must(lab.StartNginx(l, "../../deploy/nginx", strings.Replace(redis.URL, "unix://", "unix:", 1)))
	left.Addresses = [][2]string{
		{"unix", strings.TrimPrefix(redis.URL, "unix://")}, {"tcp", strings.TrimPrefix(nginx.URL, "http://")},
		{"unix", strings.TrimSuffix(strings.TrimPrefix(must(lab.StartMySQL(l)).DSN(""), "root@unix("), ")/")},
	}
	left.FIFO = startDeaf(l)
	_ = json.NewEncoder(os.Stdout).Encode(left) // the test reads it
	select {}
}

// startDeaf starts a process that reads a FIFO and that no SIGTERM ends, as a MariaDB
// that is starting.
func startDeaf(l *lab.Lab) (fifo string) {
	dir := must(l.Dir("deaf"))
	fifo = filepath.Join(dir, "fifo")
	must(l.Start(lab.Program{
		Name: "deaf", Path: "/bin/sh", Dir: dir, Args: []string{"-c", `trap "" TERM; mkfifo fifo; read -r _ <>fifo`},
		Ready: func(context.Context) error { return hasReader(fifo) },
	}))
	return fifo
}

func hasReader(fifo string) error {
	f, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func TestKilledLabLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	labtest.NeedServers(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LAB_TEST_CHILD=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	check.NoError(t, err)
	check.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadBytes('\n')
	check.NoError(t, err)
	var left resources
	check.NoError(t, json.Unmarshal(line, &left))
	for _, address := range left.Addresses {
		check.Eventually(t, fmt.Sprintf("%v listens", address), func() bool { return listening(address) })
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for _, address := range left.Addresses {
		check.Eventually(t, fmt.Sprintf("%v is free", address), func() bool { return !listening(address) })
	}
	check.Eventually(t, "the deaf process has ended", func() bool { return hasReader(left.FIFO) != nil })
	check.Eventually(t, "the directory is removed", func() bool {
		_, err = os.Stat(left.Dir)
		return os.IsNotExist(err)
	})
}

func TestRunReturnsExitStatusAndLog(t *testing.T) {
	t.Parallel()
	p := lab.Program{Name: "sh", Path: "/bin/sh", Args: []string{"-c", "echo what went wrong; exit 3"},
		Dir: t.TempDir()}
	err := lab.Run(t.Context(), p)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 3 || !strings.Contains(err.Error(), "what went wrong") {
		t.Errorf("err = %v, want status 3 and the log", err)
	}
}

func listening(address [2]string) bool {
	conn, err := net.DialTimeout(address[0], address[1], time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

func TestPausedServerSendsNoReply(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	rdb := labtest.Dial(t, server)
	for range 20 {
		server.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := rdb.Ping(ctx).Err(); err == nil {
			t.Error("a paused server replied")
		}
		cancel()
		server.Resume()
		check.NoError(t, rdb.Ping(t.Context()).Err())
	}
	server.Kill()
	server.Pause() // must not block after the server has ended
}

func TestVariablesOverridePath(t *testing.T) {
	for variable, names := range map[string][]string{
		"LAB_MYSQLD": {"mariadbd", "mysqld"}, "LAB_REDIS": {"redis-server", "valkey-server"},
	} {
		t.Setenv(variable, "/bin/sh")
		if path, err := lab.LookPath(names...); err != nil || path != "/bin/sh" {
			t.Errorf("%s: %q, %v, want /bin/sh", variable, path, err)
		}
		t.Setenv(variable, filepath.Join(t.TempDir(), "absent"))
		if path, err := lab.LookPath(names...); err == nil {
			t.Errorf("%s names no file, and LookPath returned %q", variable, path)
		}
	}
}

// Whoever runs a package's tests learns before the first one what is missing, and
// the package fails.
func TestMissingServerIsNamedBeforeAnyTestRuns(t *testing.T) {
	t.Parallel()
	labtest.NeedServers(t)
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^TestVariablesOverridePath$")
	cmd.Env = append(os.Environ(), "PATH="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the tests ended with %v, want status 1", err)
	}
	if text := string(out); strings.Contains(text, "=== RUN") || !strings.Contains(text, "etcd") ||
		!strings.Contains(text, "run: deploy/install.sh ") {
		t.Errorf("printed %q, want what is missing and no test", text)
	}
}
