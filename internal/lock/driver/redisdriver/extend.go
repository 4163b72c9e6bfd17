package redisdriver

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock/driver"
)

// Extend extends a lease to ttl from now by a script, which gets keys as KEYS, the ttl in
// milliseconds as ARGV[1] and the owner as ARGV[2]. The script returns 1 if it has
// extended the lease, and 0 if the owner has it no longer.
func Extend(
	ctx context.Context, rdb redis.UniversalClient, script *redis.Script, e *driver.Expiry, ttl time.Duration,
	owner string, keys ...string,
) error {
	return e.Extend(ttl, func() (extended bool, err error) {
		return Flag(Call(ctx, rdb, script, keys, driver.Milliseconds(ttl), owner))
	})
}
