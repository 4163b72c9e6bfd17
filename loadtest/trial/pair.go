package trial

import (
	"errors"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// A Pair is a sale at two instances of the service behind nginx, with what its clients were told.
type Pair struct {
	*rig.Fleet
	History
	Client Client // through nginx
	A, B   *Instance
}

// An Instance is an instance of the service that reaches its servers through
// proxies of its own. Its client calls it without nginx.
type Instance struct {
	*lab.API
	Client       Client
	MySQL, Redis *faultproxy.Proxy
	ZooKeeper    *faultproxy.Proxy // nil without a ZooKeeper
}

// StartPair starts two instances of a program of bin/. zookeeper may be nil.
func StartPair(s *rig.Stack, sale *rig.Sale, program string, zookeeper *lab.ZooKeeper) (p *Pair, err error) {
	p = &Pair{A: &Instance{}, B: &Instance{}}
	both, settings := []*Instance{p.A, p.B}, [2][]string{}
	for i, one := range both {
		if settings[i], err = one.connect(sale, zookeeper); err != nil {
			return nil, err
		}
	}
	if p.Fleet, err = sale.StartFleet(program, lab.StartNginx, settings[0], settings[1]); err != nil {
		return nil, err
	}
	p.Client = NewClient("nginx", p.Address(), s.Signer(), &p.History)
	for i, one := range both {
		one.API = p.Instances[i]
		one.Client = NewClient("instance "+rig.InstanceName(i), one.Address, s.Signer(), &p.History)
	}
	return p, nil
}

// connect starts the proxies and returns the settings that lead through them.
func (i *Instance) connect(sale *rig.Sale, zookeeper *lab.ZooKeeper) (settings []string, err error) {
	var dsn, url string
	if i.MySQL, dsn, err = lab.ProxyMySQL(sale.DSN); err != nil {
		return nil, err
	}
	if i.Redis, url, err = lab.ProxyRedis(sale.RedisURL); err != nil {
		return nil, err
	}
	settings = []string{"MYSQL_DSN=" + dsn, "REDIS_URL=" + url}
	if zookeeper != nil {
		if i.ZooKeeper, err = faultproxy.New(zookeeper.Address); err != nil {
			return nil, err
		}
		settings = append(settings, "ZK_ADDR="+i.ZooKeeper.Addr())
	}
	return settings, nil
}

// Stop stops nginx, the instances and the proxies.
func (p *Pair) Stop() error {
	err := p.Fleet.Stop()
	for _, i := range []*Instance{p.A, p.B} {
		err = errors.Join(err, i.MySQL.Close(), i.Redis.Close())
		if i.ZooKeeper != nil {
			err = errors.Join(err, i.ZooKeeper.Close())
		}
	}
	return err
}
