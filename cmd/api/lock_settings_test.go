package main

import (
	"maps"
	"strings"
	"testing"
)

func TestLockSettings(t *testing.T) {
	t.Parallel()
	const a, b, c = "redis://a:6379", "redis://b:6379", "redis://c:6379"
	for _, test := range []struct {
		lock, name, value string
		valid             bool
	}{
		{"zk", "ZK_ADDR", "zoo-1.example:2181,zoo-2.example:2181,[::1]:2181", true},
		{"zk", "ZK_ADDR", "", false},
		{"zk", "ZK_ADDR", "zoo", false},
		{"zk", "ZK_ADDR", "zoo:2181, zoo2:2181", false},
		{"etcd", "ETCD_ADDR", "https://etcd-1:2379,etcd-2:2379,unix:///run/etcd:1", true},
		{"etcd", "ETCD_ADDR", "x y", false},
		{"etcd", "ETCD_ADDR", "x y:1", false},
		{"etcd", "ETCD_ADDR", "etcd:port", false},
		{"etcd", "ETCD_ADDR", "http://root:hunter2@etcd:2379", false},
		{"etcd", "ETCD_ADDR", "root:hunter2@etcd:2379", false},
		{"memcache", "MEMCACHE_ADDR", "memcached:11211,/run/memcached", true},
		{"memcache", "MEMCACHE_ADDR", "???", false},
		{"memcache", "MEMCACHE_ADDR", "???:11211", false},
		{"memcache", "MEMCACHE_ADDR", "memcached:11211,", false},
		{"redis", "MEMCACHE_ADDR", "???", false},
		{"redlock", "REDLOCK_URLS", a + "," + b + "," + c, true},
		{"redlock", "REDLOCK_URLS", a, true},
		{"redlock", "REDLOCK_URLS", a + "," + b, false},
		{"redlock", "REDLOCK_URLS", "", false},
		{"redlock", "REDLOCK_URLS", a + "," + a + "," + a, false},
		{"redlock", "REDLOCK_URLS", a + "," + b + ",redis://user:hunter2@A/1", false},
		{"redlock", "REDLOCK_URLS", "unix:///run/a,unix:///run/b,unix:///run/a?db=1", false},
		{"redlock", "REDLOCK_URLS", a + "," + b + ",nonsense:hunter2", false},
	} {
		env := map[string]string{"MYSQL_DSN": "root@tcp(db)/x", "REDIS_URL": "redis://r", "JWT_SECRET": secret,
			"LOCK": test.lock}
		maps.Copy(env, map[string]string{test.name: test.value})
		_, err := configFrom(from(env))
		switch {
		case test.valid && err != nil:
			t.Errorf("%s=%s: %v", test.name, test.value, err)
		case !test.valid && (err == nil || strings.Count(err.Error(), test.name+": ") != 1):
			t.Errorf("%s=%s: got %v, want one error that names it", test.name, test.value, err)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: the error quotes a password: %v", test.name, err)
		}
	}
}
