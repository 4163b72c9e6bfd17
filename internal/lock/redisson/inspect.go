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
	forceUnlockScript       = script("force_unlock.lua")
	fairForceUnlockScript   = script("fair_queue.lua", "fair_force_unlock.lua")
	permitForceUnlockScript = script("permit_force_unlock.lua")
)

// Info is what the server knew about a lock at one moment.
type Info struct {
	Holders []Holder      // none: the lock is free
	TTL     time.Duration // until the last hold ends, unless extended
}

// A Holder is one owner: <client's UUID>:<number of the lease, or of Java's thread>.
type Holder struct {
	Owner     string
	HoldCount int  // holds; a Go lease has one
	Write     bool // holds the write side of a read-write lock
}

// Inspect tells who holds key.
func (l RLock) Inspect(ctx context.Context, key string) (Info, error) {
	return l.c.inspect(ctx, key)
}

// ForceUnlock takes key from whoever holds it, both sides of a read-write
// lock, and wakes those who wait. The holder learns of it by its next Extend.
func (l RLock) ForceUnlock(ctx context.Context, key string) error {
	message := "0"
	if l.typ == &writeLockType || l.typ == &readLockType {
		message = "1" // wakes all
	}
	return l.c.force(ctx, forceUnlockScript, []string{key}, l.typ.channel(key), message)
}

func (c *Client) force(ctx context.Context, s *redis.Script, keys []string, channel string, more ...any) error {
	publish, err := c.publishCommand(ctx)
	if err == nil {
		err = s.Run(ctx, c.rdb, keys, append([]any{publish, channel}, more...)...).Err()
	}
	if err != nil {
		return fmt.Errorf("redisson: force %s: %w", keys[0], err)
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
			return Info{}, fmt.Errorf("redisson: inspect %s: %s is no count of holds", key, strconv.Quote(value))
		}
		owner, write := strings.CutSuffix(field, ":write")
		info.Holders = append(info.Holders, Holder{Owner: owner, HoldCount: count, Write: write})
	}
	return info, nil
}
