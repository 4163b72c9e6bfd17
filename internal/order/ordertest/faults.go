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

// TakeNextID gives the sequence number after that of id, with each of the next
// 60 seconds, to an order of another coupon.
func (s *Sale) TakeNextID(id int64) {
	s.T.Helper()
	const q = `INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, 3, ?, NOW())`
	for second := range int64(60) {
		s.Exec(q, id+second<<32+1, second)
	}
}
