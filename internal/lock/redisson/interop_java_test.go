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

// watchdogTimeout is Redisson's lockWatchdogTimeout: the ttl that Java renews.
const watchdogTimeout = 3 * time.Second

// A java is a process of testdata/interop with the real Redisson.
type java struct{ address string }

// startJava builds and starts testdata/interop. The test fails, and is not
// skipped, without Java or Maven.
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
	// Without a timeout: Maven downloads Redisson at the first run.
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
			"Interop", redis.URL, fmt.Sprint(port), fmt.Sprint(watchdogTimeout.Milliseconds()),
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

// A thread is a thread of the Java process. It runs one command after another.
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

// call sends a command and returns the reply.
func (th *thread) call(command ...any) (string, error) {
	if _, err := fmt.Fprintln(th.conn, command...); err != nil {
		return "", err
	}
	line, err := th.lines.ReadString('\n')
	return strings.TrimSpace(line), err
}

// expect sends a command and fails the test unless the reply is want.
func (th *thread) expect(t *testing.T, want string, command ...any) {
	t.Helper()
	if got, err := th.call(command...); err != nil || got != want {
		t.Fatalf("Java's reply to %v: %q, %v, want %q", command, got, err, want)
	}
}

// callAsync sends a command and returns a channel that gets the reply.
func (th *thread) callAsync(command ...any) <-chan string {
	reply := make(chan string, 1)
	go func() {
		got, err := th.call(command...)
		if err != nil {
			got = err.Error()
		}
		reply <- got
	}()
	return reply
}

// wantReply waits for a reply and fails the test unless it is want.
func wantReply(t *testing.T, what string, reply <-chan string, want string) {
	t.Helper()
	select {
	case got := <-reply:
		if got != want {
			t.Fatalf("%s: %q, want %q", what, got, want)
		}
	case <-time.After(testTimeout):
		t.Fatalf("%s: no reply", what)
	}
}

func needInterop(t *testing.T) {
	t.Helper()
	if os.Getenv("INTEROP") == "" {
		t.Skip("the tests with the real Redisson run by `make interop`")
	}
}
