package main

import (
	"testing"
	"time"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
)

// The lock's server falls silent when it is asked for a lock. The driver's attempt
// to release what it may have got does not delay the response.
func TestClaimEndsInTimeAlthoughTheLocksServerIsSilent(t *testing.T) {
	t.Parallel()
	for lock, proxied := range map[string]func(*testing.T) (*faultproxy.Proxy, map[string]string){
		"redis": proxiedRedis, "redisson": proxiedRedis, "mysql": proxiedLocks, "getlock": proxiedLocks,
		"zk": func(t *testing.T) (*faultproxy.Proxy, map[string]string) {
			p := labtest.Proxy(t, labtest.SharedZooKeeper(t).Address)
			return p, map[string]string{"ZK_ADDR": p.Addr()}
		},
		"etcd": func(t *testing.T) (*faultproxy.Proxy, map[string]string) {
			p := labtest.Proxy(t, labtest.SharedEtcd(t).Address)
			return p, map[string]string{"ETCD_ADDR": p.Addr()}
		},
		"memcache": func(t *testing.T) (*faultproxy.Proxy, map[string]string) {
			p := labtest.Proxy(t, labtest.SharedMemcached(t).Address)
			return p, map[string]string{"MEMCACHE_ADDR": p.Addr()}
		},
	} {
		for _, scope := range []string{"user", "coupon"} {
			t.Run(lock+" "+scope, func(t *testing.T) {
				t.Parallel()
				const claimTimeout = 600 * time.Millisecond
				server, env := proxied(t)
				env["LOCK"], env["LOCK_SCOPE"], env["CLAIM_TIMEOUT"], env["DRAIN_TIMEOUT"] = lock, scope,
					claimTimeout.String(), "5s"
				i := start(t, environ(t, env)).ready(t)
				id := i.createCoupon(t, 10)
				claimed := i.eventuallyPost(t, "/coupons/"+id+"/orders", tokenFor(t, 1, auth.RoleUser), "")
				if claimed.status != 201 && claimed.status != 409 { // 409: of a claim whose outcome was unknown
					t.Fatalf("claim: %+v", claimed)
				}
				server.PartitionAfter("redis_lock:" + scope + "Id:")
				eventually(t, func() bool { // on a busy machine a claim may end before it asks for the lock
					r := i.post(t, "/coupons/"+id+"/orders", tokenFor(t, 2, auth.RoleUser), "")
					if r.status != 503 || r.took > claimTimeout+5*time.Second {
						t.Errorf("claim: status %d after %s", r.status, r.took)
					}
					return server.Partitioned()
				})
			})
		}
	}
}

func proxiedRedis(t *testing.T) (*faultproxy.Proxy, map[string]string) {
	t.Helper()
	p := labtest.Proxy(t, labtest.Redis(t).URL)
	return p, map[string]string{"REDIS_URL": "redis://" + p.Addr()}
}

func proxiedLocks(t *testing.T) (*faultproxy.Proxy, map[string]string) {
	t.Helper()
	p, dsn, _ := proxiedMySQL(t)
	return p, map[string]string{"MYSQL_DSN": dsn}
}
