package redisson

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	forceUnlockScript       = script("notify.lua", "force_unlock.lua")
	fairForceUnlockScript   = script("notify.lua", "fair_queue.lua", "fair_force_unlock.lua")
	permitForceUnlockScript = script("notify.lua", "permit_force_unlock.lua")
)

// Info is the state of a lock at one moment.
type Info struct {
	Holders []Holder      // empty if the lock is free
	TTL     time.Duration // until the last hold ends, unless it is extended
}

// A Holder is one owner of a lock.
type Holder struct {
	Owner     string // <client's UUID>:<number of the lease>, or :<threadId> in Java
	HoldCount int    // always 1 for a Go lease
	Write     bool   // whether it is the writer of a read-write lock
}

const forceUnlock = "force unlock"

// change runs a script with the arguments PUBLISH command, channel, and more.
func (c *Client) change(
	ctx context.Context, operation string, s *redis.Script, keys []string, channel string, more ...any,
) error {
	if err := s.Run(ctx, c.rdb, keys, append([]any{c.publish, channel}, more...)...).Err(); err != nil {
		return fmt.Errorf("redisson: %s %s: %w", operation, keys[0], err)
	}
	return nil
}

func (c *Client) inspect(ctx context.Context, key string) (Info, error) {
	var fields *redis.MapStringStringCmd
	var ttl *redis.DurationCmd
	_, err := c.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		fields, ttl = p.HGetAll(ctx, key), p.PTTL(ctx, key)
		return nil
	})
	if err != nil {
		return Info{}, fmt.Errorf("redisson: inspect %s: %w", key, err)
	}
	info := Info{TTL: max(ttl.Val(), 0)}
	for field, value := range fields.Val() {
		if field == "mode" {
			continue
		}
		count, err := strconv.Atoi(value)
		if err != nil {
			return Info{}, fmt.Errorf("redisson: inspect %s: %q is not a hold count", key, value)
		}
		owner, write := strings.CutSuffix(field, ":write")
		info.Holders = append(info.Holders, Holder{Owner: owner, HoldCount: count, Write: write})
	}
	return info, nil
}
