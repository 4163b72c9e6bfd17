package connect

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// go-redis prints what its calls return as well, and has one global for it.
func init() { logging.Disable() }

// Redis opens a pool of at most conns connections. url is redis://, rediss://
// or unix://, as go-redis takes it.
//
// An error never quotes url, which may hold a password.
func Redis(url string, conns int) (redis.UniversalClient, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("not a Redis URL (redis://user:password@host:6379/0)")
	}
	opts.PoolSize = conns
	opts.ContextTimeoutEnabled = true // a caller's deadline ends the call, not only the wait for a connection
	opts.DialTimeout = 2 * time.Second
	opts.ReadTimeout, opts.WriteTimeout, opts.MaxRetries = time.Second, time.Second, 1
	return redis.NewClient(opts), nil
}
