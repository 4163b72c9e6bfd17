package redisson

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
)

var permitType = lockType{
	acquire: script("permit_acquire.lua"),
	release: script("permit_release.lua"),
	extend:  script("permit_extend.lua"),
	keys:    func(name, _ string) []string { return []string{name, suffixed(name, "timeout")} },
	channel: semaphoreChannel,
	member:  permitID,
}

var permitSetPermitsScript = script("permit_set_permits.lua")

// permitID is the 16 bytes that Redisson shows as 32 hex digits. The owner of
// a permit is a UUID of its own.
func permitID(owner string) string {
	id, _ := hex.DecodeString(strings.ReplaceAll(owner, "-", "")) // newID's own text
	return string(id)
}

// PermitExpirableSemaphore is Redisson's RPermitExpirableSemaphore as a lock: each lease is one
// of the permits of its key, which SetPermits has made, and returns by itself
// when its time is up. It needs the server's clock and Java's to agree, for
// Java writes its own into Redis.
func (c *Client) PermitExpirableSemaphore() RPermitExpirableSemaphore {
	return RPermitExpirableSemaphore{RLock{locker{c, &permitType}}}
}

// RPermitExpirableSemaphore implements the interfaces of Lock, but is not exclusive.
type RPermitExpirableSemaphore struct{ RLock }

// TryLock implements lock.Locker: it takes one permit.
func (p RPermitExpirableSemaphore) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	lease, _, err := p.try(ctx, key, newID(), ttl, "")
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// SetPermits makes n the number of permits, taken ones included. Taking away
// more than are free leaves a debt, which releases pay first.
func (p RPermitExpirableSemaphore) SetPermits(ctx context.Context, key string, n int) error {
	publish, err := p.c.publishCommand(ctx)
	if err != nil {
		return err
	}
	err = permitSetPermitsScript.Run(ctx, p.c.rdb, permitType.keys(key, ""), n, publish, semaphoreChannel(key)).Err()
	if err != nil {
		return fmt.Errorf("redisson: set permits of %s: %w", key, err)
	}
	return nil
}

// Inspect tells who holds permits, by their ids as Java shows them; TTL is the
// time to the last one's end.
func (p RPermitExpirableSemaphore) Inspect(ctx context.Context, key string) (Info, error) {
	held, err := p.c.rdb.ZRangeByScoreWithScores(ctx, suffixed(key, "timeout"), &redis.ZRangeBy{Min: "-inf", Max: "+inf"}).Result()
	if err != nil {
		return Info{}, fmt.Errorf("redisson: inspect %s: %w", key, err)
	}
	now, err := p.c.rdb.Time(ctx).Result()
	if err != nil {
		return Info{}, fmt.Errorf("redisson: inspect %s: %w", key, err)
	}
	var info Info
	for _, permit := range held {
		if left := time.UnixMilli(int64(permit.Score)).Sub(now); left > 0 {
			info.Holders = append(info.Holders, Holder{Owner: hex.EncodeToString([]byte(permit.Member.(string))), HoldCount: 1})
			info.TTL = left
		}
	}
	return info, nil
}

// ForceUnlock takes every permit back from its holder.
func (p RPermitExpirableSemaphore) ForceUnlock(ctx context.Context, key string) error {
	return p.c.force(ctx, permitForceUnlockScript, permitType.keys(key, ""), semaphoreChannel(key))
}
