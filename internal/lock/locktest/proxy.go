package locktest

import (
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
)

// Proxy starts a proxy to a server at address, which is host:port, or the path or URL of a
// Unix socket. It is closed when the test ends.
func Proxy(tb testing.TB, address string) *faultproxy.Proxy {
	tb.Helper()
	address, network := strings.TrimPrefix(address, "unix://"), "tcp"
	if strings.HasPrefix(address, "/") {
		network = "unix"
	}
	p, err := faultproxy.New(network, address)
	check.NoError(tb, err)
	tb.Cleanup(func() { _ = p.Close() })
	return p
}
