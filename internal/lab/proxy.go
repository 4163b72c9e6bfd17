package lab

import (
	"fmt"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/faultproxy"
)

// ProxyMySQL starts a proxy of the server of dsn, and returns dsn through it.
func ProxyMySQL(dsn string) (p *faultproxy.Proxy, proxied string, err error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, "", err
	}
	if p, err = faultproxy.New(cfg.Addr); err != nil {
		return nil, "", err
	}
	cfg.Net, cfg.Addr = "tcp", p.Addr()
	return p, cfg.FormatDSN(), nil
}

// ProxyRedis starts a proxy of the server at url, and returns the URL that leads through it.
func ProxyRedis(url string) (p *faultproxy.Proxy, proxied string, err error) {
	server, err := redis.ParseURL(url)
	if err != nil {
		return nil, "", err
	}
	if p, err = faultproxy.New(server.Addr); err != nil {
		return nil, "", err
	}
	return p, fmt.Sprintf("redis://%s/%d", p.Addr(), server.DB), nil
}
