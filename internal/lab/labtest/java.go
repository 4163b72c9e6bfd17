package labtest

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

// Java is a process of a Maven project whose class Interop runs commands that it
// reads from TCP connections: each line is a command, and gets one line as its
// reply. Each connection has a thread of its own.
type Java struct {
	*lab.Server
	address string
}

// StartJava builds the project in dir and starts it with args, among which "port"
// is replaced by the port that it has to listen on. It fails the test, and does not
// skip it, without Java or Maven.
func StartJava(tb testing.TB, dir string, args ...string) *Java {
	tb.Helper()
	port, err := lab.FreePort()
	check.NoError(tb, err)
	j := &Java{address: fmt.Sprintf("127.0.0.1:%d", port)}
	classes := BuildJava(tb, dir)
	command := []string{"-Xmx256m", "-cp", classes, "Interop"}
	for _, arg := range args {
		if arg == "port" {
			arg = strconv.Itoa(port)
		}
		command = append(command, arg)
	}
	j.Server, err = Lab(tb).Start(lab.Program{
		Name: "interop", Path: mustLookPath(tb, "java"), Dir: mustDir(tb), Args: command,
		Ready: lab.Accepts("tcp", j.address),
	})
	check.NoError(tb, err)
	tb.Cleanup(j.Kill)
	return j
}

// BuildJava compiles the Maven project in dir and returns the class path. It fails the
// test, and does not skip it, without Java or Maven.
func BuildJava(tb testing.TB, dir string) string {
	tb.Helper()
	project, err := filepath.Abs(dir)
	check.NoError(tb, err)
	// Without a timeout: Maven downloads the libraries at the first run.
	err = lab.Run(tb.Context(), lab.Program{
		Name: "maven", Path: mustLookPath(tb, "mvn"), Dir: mustDir(tb),
		Args: []string{"-q", "-B", "-f", filepath.Join(project, "pom.xml"), "compile", "dependency:copy-dependencies"},
	})
	check.NoError(tb, err)
	target := filepath.Join(project, "target")
	return filepath.Join(target, "classes") + ":" + filepath.Join(target, "dependency", "*")
}

func mustLookPath(tb testing.TB, name string) string {
	tb.Helper()
	path, err := lab.LookPath(name)
	check.NoError(tb, err)
	return path
}

func mustDir(tb testing.TB) string {
	tb.Helper()
	dir, err := Lab(tb).Dir("java")
	check.NoError(tb, err)
	return dir
}

// A JavaThread is a thread of the Java process. It runs one command after another.
type JavaThread struct {
	conn  net.Conn
	lines *bufio.Reader
}

// Thread starts a thread, which ends with the test.
func (j *Java) Thread(tb testing.TB) *JavaThread {
	tb.Helper()
	conn, err := net.Dial("tcp", j.address)
	check.NoError(tb, err)
	tb.Cleanup(func() { _ = conn.Close() })
	return &JavaThread{conn, bufio.NewReader(conn)}
}

// Call sends a command and returns the reply.
func (th *JavaThread) Call(command ...any) (string, error) {
	if _, err := fmt.Fprintln(th.conn, command...); err != nil {
		return "", err
	}
	line, err := th.lines.ReadString('\n')
	return strings.TrimSpace(line), err
}

// Expect sends a command and fails the test unless the reply is want.
func (th *JavaThread) Expect(tb testing.TB, want string, command ...any) {
	tb.Helper()
	if got, err := th.Call(command...); err != nil || got != want {
		tb.Fatalf("Java's reply to %v: %q, %v, want %q", command, got, err, want)
	}
}

// CallAsync sends a command and returns a channel that gets the reply.
func (th *JavaThread) CallAsync(command ...any) <-chan string {
	reply := make(chan string, 1)
	go func() {
		got, err := th.Call(command...)
		if err != nil {
			got = err.Error()
		}
		reply <- got
	}()
	return reply
}

// WantReply waits for a reply and fails the test unless it is want.
func WantReply(tb testing.TB, what string, reply <-chan string, want string) {
	tb.Helper()
	if got := check.Receive(tb, what, reply); got != want {
		tb.Fatalf("%s: %q, want %q", what, got, want)
	}
}
