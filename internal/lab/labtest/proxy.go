package labtest

import (
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
)

// Proxy returns a proxy of the server at address: host:port, the path of a Unix socket, or a URL
// of either. It ends with the test.
func Proxy(tb testing.TB, address string) *faultproxy.Proxy {
	tb.Helper()
	if u, err := url.Parse(address); err == nil && u.Host+u.Path != "" {
		address = u.Host + u.Path
	}
	network := "tcp"
	if strings.HasPrefix(address, "/") {
		network = "unix"
	}
	p, err := faultproxy.New(network, address)
	check.NoError(tb, err)
	tb.Cleanup(func() { _ = p.Close() })
	return p
}

// ProxiedMySQL returns a proxy of the server of dsn, and dsn through it.
func ProxiedMySQL(tb testing.TB, dsn string) (p *faultproxy.Proxy, proxied string) {
	tb.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	check.NoError(tb, err)
	p = Proxy(tb, cfg.Addr)
	cfg.Net, cfg.Addr = "tcp", p.Addr()
	return p, cfg.FormatDSN()
}
