package driver

// Remote lists the drivers whose lock excludes other processes, by their values of
// the setting LOCK. Commands, experiments and pages that offer every lock take them
// from here.
var Remote = []string{"redis", "redisson", "redlock", "mysql", "getlock", "zk", "etcd", "memcache"}
