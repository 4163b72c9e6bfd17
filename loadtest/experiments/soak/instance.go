package soak

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// The timeouts of the instances. They are shorter than most faults.
const (
	claimTimeout = 3 * time.Second
	lockTTL      = 4 * time.Second
	drainTimeout = 10 * time.Second
)

var settings = []string{
	"CLAIM_TIMEOUT=" + claimTimeout.String(), "LOCK_TTL=" + lockTTL.String(), "DRAIN_TIMEOUT=" + drainTimeout.String(),
}

// An instance of the service has connections of its own to MySQL and Redis,
// which can be partitioned, and a client that calls it without nginx.
type instance struct {
	*lab.API
	network
	name   string
	client client
	tally  tally
	// lastUser is the last user of steadyClaims who claimed here.
	lastUser atomic.Int64
}

// A network is the connections of one process.
type network struct{ mysql, redis *faultproxy.Proxy }

func newNetwork(sale *rig.Sale) (n network, err error) {
	if n.mysql, err = mysqlProxy(sale.DSN); err != nil {
		return n, err
	}
	server, err := redis.ParseURL(sale.RedisURL)
	if err != nil {
		return n, err
	}
	n.redis, err = faultproxy.New(server.Network, server.Addr)
	return n, err
}

// mysqlProxy returns a proxy to the server of dsn.
func mysqlProxy(dsn string) (*faultproxy.Proxy, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	return faultproxy.New(cfg.Net, cfg.Addr)
}

// settings returns the settings that lead through n.
func (n network) settings(sale *rig.Sale) ([]string, error) {
	dsn, err := through(n.mysql, sale.DSN)
	if err != nil {
		return nil, err
	}
	server, err := redis.ParseURL(sale.RedisURL)
	return []string{"MYSQL_DSN=" + dsn, fmt.Sprintf("REDIS_URL=redis://%s/%d", n.redis.Addr(), server.DB)}, err
}

// through returns dsn with the proxy in place of the server.
func through(proxy *faultproxy.Proxy, dsn string) (string, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return "", err
	}
	cfg.Net, cfg.Addr = "tcp", proxy.Addr()
	return cfg.FormatDSN(), nil
}

// startInstances starts two instances behind nginx, and returns clients of each
// and of nginx.
func startInstances(sale *rig.Sale, signer rig.TokenSigner) (a, b *instance, nginx client, err error) {
	var networks [2]network
	var settings [2][]string
	for i := range networks {
		if networks[i], err = newNetwork(sale); err != nil {
			return nil, nil, nginx, err
		}
		if settings[i], err = networks[i].settings(sale); err != nil {
			return nil, nil, nginx, err
		}
	}
	pair, err := sale.StartPairWith("api", settings[0], settings[1])
	if err != nil {
		return nil, nil, nginx, err
	}
	a = &instance{API: pair.A, network: networks[0], name: "a"}
	b = &instance{API: pair.B, network: networks[1], name: "b"}
	for _, i := range []*instance{a, b} {
		if i.client, err = directClient(i.name, i.URL(), signer); err != nil {
			return nil, nil, nginx, err
		}
	}
	nginx, err = newClient(pair.Nginx.URL, signer)
	return a, b, nginx, err
}
