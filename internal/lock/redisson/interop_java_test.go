package redisson_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// watchdog is the ttl that Java renews.
const watchdog = 3 * time.Second

// java is the real Redisson in a process of its own.
type java struct{ address string }

// startJava builds and starts testdata/interop. It fails, and does not skip,
// where Java or Maven are missing.
func startJava(t *testing.T, redis *lab.Redis) java {
	t.Helper()
	jvm, err := lab.LookPath("java")
	noError(t, err)
	maven, err := lab.LookPath("mvn")
	noError(t, err)
	project, err := filepath.Abs("testdata/interop")
	noError(t, err)
	dir, err := labtest.Lab(t).Dir("java")
	noError(t, err)
	// No deadline but the test's own: the first time, Maven downloads.
	noError(t, lab.Run(t.Context(), lab.Program{
		Name: "maven", Path: maven, Dir: dir,
		Args: []string{"-q", "-B", "-f", filepath.Join(project, "pom.xml"), "compile", "dependency:copy-dependencies"},
	}))
	port, err := lab.FreePort()
	noError(t, err)
	j := java{fmt.Sprintf("127.0.0.1:%d", port)}
	target := filepath.Join(project, "target")
	server, err := labtest.Lab(t).Start(lab.Program{
		Name: "interop", Path: jvm, Dir: dir,
		Args: []string{
			"-Xmx256m", "-cp", filepath.Join(target, "classes") + ":" + filepath.Join(target, "dependency", "*"),
			"Interop", redis.URL, fmt.Sprint(port), fmt.Sprint(watchdog.Milliseconds()),
		},
		Ready: func(ctx context.Context) error {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", j.address)
			if err == nil {
				_ = conn.Close()
			}
			return err
		},
	})
	noError(t, err)
	t.Cleanup(server.Kill)
	return j
}

// A thread is one thread of Java: it does one thing after another.
type thread struct {
	conn  net.Conn
	lines *bufio.Reader
}

func (j java) thread(t *testing.T) *thread {
	t.Helper()
	conn, err := net.Dial("tcp", j.address)
	noError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &thread{conn, bufio.NewReader(conn)}
}

func (th *thread) ask(words ...any) (string, error) {
	if _, err := fmt.Fprintln(th.conn, words...); err != nil {
		return "", err
	}
	line, err := th.lines.ReadString('\n')
	return strings.TrimSpace(line), err
}

// says fails unless Java answers want to the words.
func (th *thread) says(t *testing.T, want string, words ...any) {
	t.Helper()
	if got, err := th.ask(words...); err != nil || got != want {
		t.Fatalf("Java answers %q, %v to %v, want %q", got, err, words, want)
	}
}

// later is the answer to come.
func (th *thread) later(words ...any) <-chan string {
	answer := make(chan string, 1)
	go func() {
		got, err := th.ask(words...)
		if err != nil {
			got = err.Error()
		}
		answer <- got
	}()
	return answer
}

func soon(t *testing.T, what string, answer <-chan string, want string) {
	t.Helper()
	select {
	case got := <-answer:
		if got != want {
			t.Fatalf("%s: %q, want %q", what, got, want)
		}
	case <-time.After(testTimeout):
		t.Fatalf("%s: no answer", what)
	}
}

func needInterop(t *testing.T) {
	t.Helper()
	if os.Getenv("INTEROP") == "" {
		t.Skip("the real Redisson is `make interop`'s")
	}
}
