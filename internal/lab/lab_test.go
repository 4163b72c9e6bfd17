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
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	if os.Getenv("LAB_VICTIM") != "" {
		if err := victim(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	labtest.Main(m)
}

// A trace is what a killed lab could leave behind.
type trace struct {
	Dir       string
	Addresses [][2]string // network, address
}

// victim runs one server of each kind, says where they are, and waits for its
// end.
func victim() error {
	l, err := lab.Open()
	if err != nil {
		return err
	}
	dir, err := l.Dir("x")
	if err != nil {
		return err
	}
	db, err := l.MySQL()
	if err != nil {
		return err
	}
	redis, err := l.Redis()
	if err != nil {
		return err
	}
	nginx, err := l.Nginx("../../deploy/nginx", strings.Replace(redis.URL, "unix://", "unix:", 1))
	if err != nil {
		return err
	}
	socket := strings.TrimSuffix(strings.TrimPrefix(db.DSN(""), "root@unix("), ")/")
	err = json.NewEncoder(os.Stdout).Encode(trace{Dir: dir, Addresses: [][2]string{
		{"unix", socket}, {"unix", strings.TrimPrefix(redis.URL, "unix://")}, {"tcp", strings.TrimPrefix(nginx.URL, "http://")},
	}})
	if err != nil {
		return err
	}
	select {}
}

func TestNothingOutlivesKilledLab(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LAB_VICTIM=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var left trace
	if err := json.Unmarshal(line, &left); err != nil {
		t.Fatal(err)
	}
	for _, a := range left.Addresses {
		if !listening(a) {
			t.Fatalf("%v: nothing listens before the kill", a)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for _, a := range left.Addresses {
		eventually(t, fmt.Sprintf("%v is free", a), func() bool { return !listening(a) })
	}
	eventually(t, "the next lab swept the directory", func() bool {
		next, err := lab.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer next.Close()
		_, err = os.Stat(left.Dir)
		return os.IsNotExist(err)
	})
}

func TestSweepSparesLivingLab(t *testing.T) {
	t.Parallel()
	mine, err := lab.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	dir, err := mine.Dir("x")
	if err != nil {
		t.Fatal(err)
	}
	other, err := lab.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("a living lab's directory: %v", err)
	}
}

func TestLabsOpenAtOnce(t *testing.T) {
	t.Parallel()
	var all errgroup.Group
	for range 8 {
		all.Go(func() error {
			for range 50 {
				l, err := lab.Open()
				if err != nil {
					return err
				}
				if _, err := l.Dir("x"); err != nil {
					return errors.Join(err, l.Close())
				}
				if err := l.Close(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

func TestRunReportsFailureWithLog(t *testing.T) {
	t.Parallel()
	p := lab.Program{Name: "sh", Path: "/bin/sh", Args: []string{"-c", "echo what went wrong; exit 3"}, Dir: t.TempDir()}
	err := lab.Run(t.Context(), p)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 3 || !strings.Contains(err.Error(), "what went wrong") {
		t.Errorf("err = %v, want status 3 and the log", err)
	}
}

func listening(a [2]string) bool {
	conn, err := net.DialTimeout(a[0], a[1], time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestPausedServerAnswersNothing(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	rdb := labtest.Dial(t, server)
	for range 20 {
		server.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := rdb.Ping(ctx).Err(); err == nil {
			t.Error("a paused server answered")
		}
		cancel()
		server.Resume()
		if err := rdb.Ping(t.Context()).Err(); err != nil {
			t.Error(err)
		}
	}
	server.Kill()
	server.Pause() // of what has ended must not block
}

func TestVariablesChooseServers(t *testing.T) {
	for variable, names := range map[string][]string{
		"LAB_MYSQLD": {"mariadbd", "mysqld"}, "LAB_REDIS": {"redis-server", "valkey-server"},
	} {
		t.Setenv(variable, "/bin/sh")
		if path, err := lab.LookPath(names...); err != nil || path != "/bin/sh" {
			t.Errorf("%s: %q, %v, want /bin/sh", variable, path, err)
		}
		t.Setenv(variable, filepath.Join(t.TempDir(), "absent"))
		if path, err := lab.LookPath(names...); err == nil {
			t.Errorf("%s names nothing, and %q runs instead", variable, path)
		}
	}
}
