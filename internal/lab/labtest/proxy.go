package labtest

import (
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
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
	p, proxied, err := lab.ProxyMySQL(dsn)
	check.NoError(tb, err)
	tb.Cleanup(func() { _ = p.Close() })
	return p, proxied
}
