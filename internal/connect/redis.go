package connect

import (
	"errors"
	neturl "net/url"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// go-redis logs errors that its calls also return. Its logger is a global.
func init() { logging.Disable() }

var errRedisURL = errors.New("not a Redis URL (redis://user:password@host:6379/0, redis+sentinel://host:26379/0?master_name=name, redis+cluster://host:6379), or its password has characters to be percent-encoded")

const (
	dialTimeout = 2 * time.Second
	ioTimeout   = time.Second // of a read, and of a write
	maxRetries  = 1
	// idleTime is how long a connection may be idle. A server or a proxy closes it later, or
	// forgets it; go-redis does not see that by TLS, and repeats a command on another such one.
	idleTime = 4 * time.Second
	// clusterReload is how often the client reloads the cluster's state. A
	// dead master sends no redirection, and go-redis's default is a minute.
	clusterReload = 500 * time.Millisecond
)

// Redis opens a pool of at most conns connections; in a cluster, to each node.
// The scheme of url names the topology:
//
//	redis://user:password@host:6379/0                one server, or the master of replicas
//	unix:///path?db=0                                one server on a Unix socket
//	redis+sentinel://host:26379/0?master_name=main   the master that Sentinel names
//	redis+cluster://user:password@host:6379          a cluster; host is one of its nodes
//
// The scheme rediss instead of redis uses TLS, and the parameters &client_cert= and
// &client_key= name the files of a certificate to send. Parameters &addr=host:port add
// sentinels or nodes of the cluster. For Sentinel, user and password before the
// @ are the sentinels' own; the server's are &username= and &password=. Other
// parameters are those of go-redis, except for the options set here.
//
// All commands go to masters; replicas are for failover only.
//
// An error does not quote url, which may hold a password.
func Redis(url string, conns int) (redis.UniversalClient, error) {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return nil, errRedisURL
	}
	scheme, topology, _ := strings.Cut(scheme, "+")
	url, certificate, err := cutClientCertificate(scheme + "://" + rest)
	if err != nil {
		return nil, err
	}
	switch topology {
	case "":
		return single(url, conns, certificate)
	case "sentinel":
		return sentinel(url, conns, certificate)
	case "cluster":
		return cluster(url, conns, certificate)
	}
	return nil, errRedisURL
}

// withoutNotifications turns off what only Redis Enterprise sends. For it, go-redis looks up the host
// when it opens a pool: without DNS that takes seconds, for each pool.
func withoutNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func single(url string, conns int, certificate clientCertificate) (redis.UniversalClient, error) {
	o, err := redis.ParseURL(url)
	if err != nil || o.DB < 0 {
		return nil, errRedisURL
	}
	if err := certificate.add(o.TLSConfig); err != nil {
		return nil, err
	}
	o.PoolSize = conns
	o.ContextTimeoutEnabled = true // the caller's deadline ends the call, not only the wait for a connection
	o.DialTimeout = dialTimeout
	o.ReadTimeout, o.WriteTimeout, o.MaxRetries = ioTimeout, ioTimeout, maxRetries
	o.ConnMaxIdleTime, o.ConnMaxLifetime = idleTime, connLifetime
	o.MaintNotificationsConfig = withoutNotifications()
	return redis.NewClient(o), nil
}

func sentinel(url string, conns int, certificate clientCertificate) (redis.UniversalClient, error) {
	o, err := redis.ParseFailoverURL(url)
	if err != nil || o.MasterName == "" || o.DB < 0 {
		return nil, errRedisURL
	}
	if err := certificate.add(o.TLSConfig); err != nil {
		return nil, err
	}
	o.PoolSize = conns
	o.ContextTimeoutEnabled = true
	o.DialTimeout = dialTimeout
	o.ReadTimeout, o.WriteTimeout, o.MaxRetries = ioTimeout, ioTimeout, maxRetries
	o.ConnMaxIdleTime, o.ConnMaxLifetime = idleTime, connLifetime
	o.ReplicaOnly = false
	return redis.NewFailoverClient(o), nil
}

// cluster keeps go-redis's default of three retries: in a cluster they include
// redirections.
func cluster(url string, conns int, certificate clientCertificate) (redis.UniversalClient, error) {
	o, err := redis.ParseClusterURL(url)
	if err != nil || strings.HasPrefix(url, "unix") {
		return nil, errRedisURL
	}
	if err := certificate.add(o.TLSConfig); err != nil {
		return nil, err
	}
	o.PoolSize = conns
	o.ContextTimeoutEnabled = true
	o.DialTimeout = dialTimeout
	o.ReadTimeout, o.WriteTimeout = ioTimeout, ioTimeout
	o.ConnMaxIdleTime, o.ConnMaxLifetime = idleTime, connLifetime
	o.ClusterStateReloadInterval = clusterReload
	o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
	o.MaintNotificationsConfig = withoutNotifications()
	return redis.NewClusterClient(o), nil
}

// RedisServer returns which server, or which deployment, url leads to: its
// addresses and the name of its master, without the password and the number of
// the database. It does not resolve names. It returns url itself if that cannot be
// parsed.
func RedisServer(url string) string {
	u, err := neturl.Parse(url)
	if err != nil {
		return url
	}
	query := u.Query()
	addrs := append([]string{u.Host + ":6379"}, query["addr"]...)
	if u.Port() != "" {
		addrs[0] = u.Host
	}
	if u.Host == "" { // a Unix socket
		addrs[0] = u.Path
	}
	slices.Sort(addrs)
	return strings.ToLower(strings.Join(append(addrs, query.Get("master_name")), " "))
}
