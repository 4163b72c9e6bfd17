package labtest

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
)

// Proxy returns a proxy of the server at address, which ends with the test.
func Proxy(tb testing.TB, address string) *faultproxy.Proxy {
	tb.Helper()
	p, err := faultproxy.New(address)
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
