package connect

import (
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// go-redis prints what its calls return as well, and has one global for it.
func init() { logging.Disable() }

var errRedisURL = errors.New("not a Redis URL (redis://user:password@host:6379/0, redis+sentinel://host:26379/0?master_name=name, redis+cluster://host:6379)")

const (
	redisDial    = 2 * time.Second
	redisAnswer  = time.Second // to read, or to write
	redisRetries = 1
	// clusterState is how old the client's map of the cluster may be. A dead
	// master redirects nobody, and go-redis would look again after a minute.
	clusterState = 500 * time.Millisecond
)

// Redis opens a pool of at most conns connections (in a cluster: to each
// node). The scheme of url says which shape Redis has:
//
//	redis://user:password@host:6379/0                one server, or the master of some replicas
//	unix:///path?db=0                                one server on a socket
//	redis+sentinel://host:26379/0?master_name=main   the master that Sentinel names
//	redis+cluster://user:password@host:6379          a cluster; host is one of its nodes
//
// With rediss for redis it speaks TLS. More sentinels, or more nodes of the
// cluster, follow as &addr=host:port. For Sentinel, user and password before
// the @ are the sentinels' own; the server's are &username= and &password=.
// Other parameters are those of go-redis, as far as they are not set here.
// Everything is asked of masters; replicas are there to take their place.
//
// An error never quotes url, which may hold a password.
func Redis(url string, conns int) (redis.UniversalClient, error) {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return nil, errRedisURL
	}
	scheme, shape, _ := strings.Cut(scheme, "+")
	url = scheme + "://" + rest
	switch shape {
	case "":
		return single(url, conns)
	case "sentinel":
		return sentinel(url, conns)
	case "cluster":
		return cluster(url, conns)
	}
	return nil, errRedisURL
}

func single(url string, conns int) (redis.UniversalClient, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, errRedisURL
	}
	o.PoolSize = conns
	o.ContextTimeoutEnabled = true // a caller's deadline ends the call, not only the wait for a connection
	o.DialTimeout = redisDial
	o.ReadTimeout, o.WriteTimeout, o.MaxRetries = redisAnswer, redisAnswer, redisRetries
	return redis.NewClient(o), nil
}

func sentinel(url string, conns int) (redis.UniversalClient, error) {
	o, err := redis.ParseFailoverURL(url)
	if err != nil || o.MasterName == "" {
		return nil, errRedisURL
	}
	o.PoolSize = conns
	o.ContextTimeoutEnabled = true
	o.DialTimeout = redisDial
	o.ReadTimeout, o.WriteTimeout, o.MaxRetries = redisAnswer, redisAnswer, redisRetries
	return redis.NewFailoverClient(o), nil
}

// cluster leaves the retries at go-redis's three: in a cluster they are also
// the redirections.
func cluster(url string, conns int) (redis.UniversalClient, error) {
	o, err := redis.ParseClusterURL(url)
	if err != nil || strings.HasPrefix(url, "unix") {
		return nil, errRedisURL
	}
	o.PoolSize = conns
	o.ContextTimeoutEnabled = true
	o.DialTimeout = redisDial
	o.ReadTimeout, o.WriteTimeout = redisAnswer, redisAnswer
	o.ClusterStateReloadInterval = clusterState
	return redis.NewClusterClient(o), nil
}
