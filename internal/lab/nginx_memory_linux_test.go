package lab_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

// Anybody can begin a body, because nginx sees no token.
func TestSlowBodiesTakeLittleMemory(t *testing.T) {
	t.Parallel()
	const clients, most = 500, 20 << 10
	n := startNginx(t, "127.0.0.1:1")
	for _, path := range []string{"/coupons", "/coupons/1/orders", "/docs/"} {
		awaitWorkers(t, n)
		before := residentMemory(t, n)
		conns := make([]net.Conn, clients)
		for i := range conns {
			conns[i] = beginBody(t, n, path)
		}
		awaitWorkers(t, n)
		if each := (residentMemory(t, n) - before) / clients; each > most {
			t.Errorf("%s: nginx takes %d bytes for each slow body, want at most %d", path, each, most)
		}
		for _, c := range conns {
			_ = c.Close()
		}
	}
}

// beginBody begins a body of 64 kB, and does not end it.
func beginBody(t *testing.T, n *lab.Nginx, path string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(n.URL, "http://"))
	check.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 65536\r\n\r\n",
		path)
	if err == nil {
		_, err = bufio.NewReader(conn).ReadString('\n') // nginx reads the body, or refuses it
	}
	check.NoError(t, err)
	_, _ = io.WriteString(conn, strings.Repeat(" ", 65535))
	return conn
}

// awaitWorkers waits until every worker, of which each accepts its share of the
// connections, has started and has read what has been sent so far.
func awaitWorkers(t *testing.T, n *lab.Nginx) {
	t.Helper()
	for range 20 * runtime.NumCPU() {
		send(t, n, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n")
	}
}

// residentMemory returns the memory of nginx's workers in bytes.
func residentMemory(t *testing.T, n *lab.Nginx) int {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", n.PID()))
	check.NoError(t, err)
	pages := 0
	for worker := range strings.FieldsSeq(string(children)) {
		var size, resident int
		statm, err := os.ReadFile(filepath.Join("/proc", worker, "statm"))
		if err == nil {
			_, err = fmt.Sscan(string(statm), &size, &resident)
		}
		check.NoError(t, err)
		pages += resident
	}
	return pages * os.Getpagesize()
}
