package redisson

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
)

var permitType = lockType{
	acquire: script("notify.lua", "permit_acquire.lua"),
	release: script("notify.lua", "permit_release.lua"),
	extend:  freeing("permit_extend.lua"),
	keys:    func(name, _ string) []string { return []string{name, suffixed(name, "timeout")} },
	needed:  func(name, _ string) []string { return []string{suffixed(name, "timeout")} },
	channel: semaphoreChannel,
	member:  permitID,
}

var permitSetPermitsScript = script("notify.lua", "permit_set_permits.lua")

// permitID returns the id of a permit in Redis: 16 bytes, which Redisson shows
// as 32 hex digits. The owner of a permit is a UUID made by newID.
func permitID(owner string) string {
	id, _ := uuid.Parse(owner)
	return string(id[:])
}

// PermitExpirableSemaphore returns Redisson's RPermitExpirableSemaphore as a
// lock.Locker. A lease is one of the permits of its key, and is returned when
// it expires. SetPermits sets the number of permits.
//
// Go writes the ends of permits by the clock of the server, Java by its own.
// Keep these clocks synchronized.
func (c *Client) PermitExpirableSemaphore() RPermitExpirableSemaphore {
	return RPermitExpirableSemaphore{RLock{locker{c, &permitType}}}
}

// An RPermitExpirableSemaphore implements the interfaces of an RLock, but a key
// can have several leases at a time.
type RPermitExpirableSemaphore struct{ RLock }

// TryLock implements lock.Locker. It acquires one permit.
func (p RPermitExpirableSemaphore) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	lease, _, err := p.try(ctx, key, newID(), ttl, "")
	return lease, err
}

// SetPermits sets the number of permits of key to n, acquired ones included.
// When more than n are acquired, the number of free permits becomes negative.
func (p RPermitExpirableSemaphore) SetPermits(ctx context.Context, key string, n int) error {
	if err := checkNumber(n, 0); err != nil {
		return fmt.Errorf("redisson: set permits of %s: %w", key, err)
	}
	return p.c.change(ctx, "set permits", permitSetPermitsScript, permitType.keys(key, ""), semaphoreChannel(key), n)
}

// Inspect returns the acquired permits of key. The Owner of each is its permit
// id, as Java shows it. TTL is the time until the last permit expires.
func (p RPermitExpirableSemaphore) Inspect(ctx context.Context, key string) (Info, error) {
	permits, err := p.c.rdb.ZRangeByScoreWithScores(ctx, suffixed(key, "timeout"),
		&redis.ZRangeBy{Min: "-inf", Max: "+inf"}).Result()
	if err != nil {
		return Info{}, fmt.Errorf("redisson: inspect %s: %w", key, err)
	}
	now, err := p.c.rdb.Time(ctx).Result()
	if err != nil {
		return Info{}, fmt.Errorf("redisson: inspect %s: %w", key, err)
	}
	var info Info
	for _, permit := range permits {
		if ttl := time.UnixMilli(int64(permit.Score)).Sub(now); ttl > 0 {
			info.Holders = append(info.Holders,
				Holder{Owner: hex.EncodeToString([]byte(permit.Member.(string))), HoldCount: 1})
			info.TTL = ttl
		}
	}
	return info, nil
}

// ForceUnlock returns every acquired permit of key without regard to its
// holder, and notifies the waiters.
func (p RPermitExpirableSemaphore) ForceUnlock(ctx context.Context, key string) error {
	return p.c.change(ctx, forceUnlock, permitForceUnlockScript, permitType.keys(key, ""), semaphoreChannel(key))
}
