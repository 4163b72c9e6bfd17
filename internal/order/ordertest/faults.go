package ordertest

import (
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
)

// Proxied returns a proxy in front of the sale's database, and the change that
// makes an instance use it.
func (s *Sale) Proxied() (*faultproxy.Proxy, func(*Config)) {
	s.T.Helper()
	proxy, proxied := labtest.ProxiedMySQL(s.T, s.DSN)
	through := s.ConfigOn(proxied)
	return proxy, func(c *Config) {
		c.Commit.DB, c.Commit.BatchDB = through.Commit.DB, through.Commit.BatchDB
		c.Order.Coupons = through.Order.Coupons
	}
}
