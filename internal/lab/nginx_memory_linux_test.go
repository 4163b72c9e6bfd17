package lab_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

// Anybody can begin a body, because nginx sees no token.
func TestSlowBodiesTakeLittleMemory(t *testing.T) {
	t.Parallel()
	const clients, most = 200, 20.0 / 1024 // MB
	n := serve(t, nil)
	for _, path := range []string{"/coupons", "/coupons/1/orders", "/docs/"} {
		awaitWorkers(t, n)
		before, err := lab.MemoryMB(n.PID())
		check.NoError(t, err)
		conns := make([]net.Conn, clients)
		for i := range conns {
			conns[i] = beginBody(t, n, path)
		}
		awaitWorkers(t, n)
		after, err := lab.MemoryMB(n.PID())
		check.NoError(t, err)
		if each := (after - before) / clients; each > most {
			t.Errorf("%s: nginx takes %f MB for each slow body, want at most %f", path, each, most)
		}
		for _, c := range conns {
			_ = c.Close()
		}
	}
}

// beginBody begins a body of 64 kB, and does not end it.
func beginBody(t *testing.T, n *lab.Nginx, path string) net.Conn {
	t.Helper()
	conn := connect(t, n)
	_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 65536\r\n\r\n",
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
