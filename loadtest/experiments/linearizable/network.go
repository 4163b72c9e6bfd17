package linearizable

import (
	"fmt"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// An instance of the service reaches its servers through proxies of its own.
type instance struct {
	*lab.API
	mysql, redis, zookeeper *faultproxy.Proxy
}

// connect starts the proxies of an instance and returns the settings that lead
// through them.
func (i *instance) connect(sale *rig.Sale, z *lab.ZooKeeper) (settings []string, err error) {
	dsn, err := mysql.ParseDSN(sale.DSN)
	if err != nil {
		return nil, err
	}
	if i.mysql, err = faultproxy.New(dsn.Net, dsn.Addr); err != nil {
		return nil, err
	}
	server, err := redis.ParseURL(sale.RedisURL)
	if err != nil {
		return nil, err
	}
	if i.redis, err = faultproxy.New(server.Network, server.Addr); err != nil {
		return nil, err
	}
	dsn.Net, dsn.Addr = "tcp", i.mysql.Addr()
	settings = []string{"MYSQL_DSN=" + dsn.FormatDSN(),
		fmt.Sprintf("REDIS_URL=redis://%s/%d", i.redis.Addr(), server.DB)}
	if z != nil {
		if i.zookeeper, err = faultproxy.New("tcp", z.Address); err != nil {
			return nil, err
		}
		settings = append(settings, "ZK_ADDR="+i.zookeeper.Addr())
	}
	return settings, nil
}

// close closes the proxies.
func (i *instance) close() {
	for _, p := range []*faultproxy.Proxy{i.mysql, i.redis, i.zookeeper} {
		if p != nil {
			_ = p.Close()
		}
	}
}
