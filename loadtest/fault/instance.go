package fault

import (
	"fmt"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// An Instance is an instance of the service that reaches its servers through
// proxies of its own.
type Instance struct {
	*lab.API
	MySQL, Redis *faultproxy.Proxy
	ZooKeeper    *faultproxy.Proxy // nil without a ZooKeeper
}

// StartPair starts two instances of a program of bin/ behind nginx. zookeeper may
// be nil.
func StartPair(sale *rig.Sale, program string, zookeeper *lab.ZooKeeper) (a, b *Instance, pair *rig.Fleet, err error) {
	instances, settings := [2]Instance{}, [2][]string{}
	for i := range instances {
		if settings[i], err = instances[i].connect(sale, zookeeper); err != nil {
			return nil, nil, nil, err
		}
	}
	a, b = &instances[0], &instances[1]
	if pair, err = sale.StartFleet(program, lab.StartNginx, settings[0], settings[1]); err == nil {
		a.API, b.API = pair.Instances[0], pair.Instances[1]
	}
	return a, b, pair, err
}

// connect starts the proxies and returns the settings that lead through them.
func (i *Instance) connect(sale *rig.Sale, zookeeper *lab.ZooKeeper) (settings []string, err error) {
	var dsn string
	if i.MySQL, dsn, err = ProxyMySQL(sale.DSN); err != nil {
		return nil, err
	}
	var url string
	if i.Redis, url, err = ProxyRedis(sale.RedisURL); err != nil {
		return nil, err
	}
	settings = []string{"MYSQL_DSN=" + dsn, "REDIS_URL=" + url}
	if zookeeper != nil {
		if i.ZooKeeper, err = faultproxy.New("tcp", zookeeper.Address); err != nil {
			return nil, err
		}
		settings = append(settings, "ZK_ADDR="+i.ZooKeeper.Addr())
	}
	return settings, nil
}

// ProxyMySQL starts a proxy to the server of dsn, and returns the DSN that leads
// through it.
func ProxyMySQL(dsn string) (p *faultproxy.Proxy, proxied string, err error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, "", err
	}
	if p, err = faultproxy.New(cfg.Net, cfg.Addr); err != nil {
		return nil, "", err
	}
	cfg.Net, cfg.Addr = "tcp", p.Addr()
	return p, cfg.FormatDSN(), nil
}

// ProxyRedis starts a proxy to the server of url, and returns the URL that leads through
// it.
func ProxyRedis(url string) (p *faultproxy.Proxy, proxied string, err error) {
	server, err := redis.ParseURL(url)
	if err != nil {
		return nil, "", err
	}
	if p, err = faultproxy.New(server.Network, server.Addr); err != nil {
		return nil, "", err
	}
	return p, fmt.Sprintf("redis://%s/%d", p.Addr(), server.DB), nil
}

// CloseProxies closes the proxies.
func (i *Instance) CloseProxies() {
	for _, p := range []*faultproxy.Proxy{i.MySQL, i.Redis, i.ZooKeeper} {
		if p != nil {
			_ = p.Close()
		}
	}
}
