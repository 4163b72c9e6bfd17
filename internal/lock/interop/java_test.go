package interop

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// A java is a process of Interop.java, which runs commands that it reads from TCP connections:
// each line is a command, and gets one line as its reply. Each connection has a thread of its own.
type java struct {
	*lab.Server
	address string
}

// startJava starts Interop.java in a mode, with the addresses of servers. It fails the test, and
// does not skip it, without Java or Maven.
func startJava(t *testing.T, mode string, servers ...string) *java {
	t.Helper()
	port, err := lab.FreePort()
	check.NoError(t, err)
	j := &java{address: fmt.Sprintf("127.0.0.1:%d", port)}
	classes := labtest.BuildJava(t, "testdata/java")
	path, err := lab.LookPath("java")
	check.NoError(t, err)
	j.Server = labtest.Start(t, func(l *lab.Lab) (*lab.Server, error) {
		dir, err := l.Dir("java")
		if err != nil {
			return nil, err
		}
		return l.Start(lab.Program{
			Name: "interop", Path: path, Dir: dir, Args: []string{"-Xmx256m", "-cp", classes, "Interop", mode,
				strings.Join(servers, ","), strconv.Itoa(port), fmt.Sprint(javaTimeout.Milliseconds())},
			Ready: lab.Accepts("tcp", j.address),
		})
	})
	return j
}

// A javaThread is a thread of the Java process. It runs one command after another.
type javaThread struct {
	conn  net.Conn
	lines *bufio.Reader
}

// thread starts a thread, which ends with the test.
func (j *java) thread(t *testing.T) *javaThread {
	t.Helper()
	conn, err := net.Dial("tcp", j.address)
	check.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &javaThread{conn, bufio.NewReader(conn)}
}

// call sends a command and returns the reply.
func (th *javaThread) call(command ...any) (string, error) {
	if _, err := fmt.Fprintln(th.conn, command...); err != nil {
		return "", err
	}
	line, err := th.lines.ReadString('\n')
	return strings.TrimSpace(line), err
}

// ok sends a command, and returns an error unless the reply is ok.
func (th *javaThread) ok(command ...any) error {
	reply, err := th.call(command...)
	if err == nil && reply != "ok" {
		err = fmt.Errorf("Java's reply to %v: %q", command, reply) //nolint:staticcheck // a name
	}
	return err
}

// expect sends a command and fails the test unless the reply is want.
func (th *javaThread) expect(t *testing.T, want string, command ...any) {
	t.Helper()
	if got, err := th.call(command...); err != nil || got != want {
		t.Fatalf("Java's reply to %v: %q, %v, want %q", command, got, err, want)
	}
}

// callAsync sends a command and returns a channel that gets the reply.
func (th *javaThread) callAsync(command ...any) <-chan string {
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
	if got := check.Receive(t, what, reply); got != want {
		t.Fatalf("%s: %q, want %q", what, got, want)
	}
}
