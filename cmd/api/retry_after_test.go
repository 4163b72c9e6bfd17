package main

import (
	"strconv"
	"testing"
	"time"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/settings"
)

// An instance that was killed in a claim leaves the user's lock. The next claim of
// the user is told how long that lasts, once no living holder can be behind it.
func TestRefusalNamesTheRestOfADeadInstancesLock(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"redis", "redisson"} {
		env := environ(t, map[string]string{"LOCK": lock, "LOCK_TTL": "30s"})
		i := start(t, env).ready(t)
		id := i.createCoupon(t, 10)
		rdb := labtest.DialURL(t, env["REDIS_URL"])
		for left, want := range map[time.Duration][2]int{29 * time.Second: {1, 1}, 15 * time.Second: {12, 15}} {
			key := (settings.Settings{Lock: lock, RedisPrefix: "flashsale:"}).LockPrefix() + "redis_lock:userId:42"
			rdb.Del(t.Context(), key)
			if lock == "redis" {
				rdb.Set(t.Context(), key, "the dead instance's token", left)
			} else {
				rdb.HSet(t.Context(), key, "the dead instance:1", 1)
				rdb.PExpire(t.Context(), key, left)
			}
			r := i.post(t, "/coupons/"+id+"/orders", tokenFor(t, 42, auth.RoleUser), "")
			seconds, err := strconv.Atoi(r.header.Get("Retry-After"))
			if r.body["code"] != "claim_in_progress" || err != nil || seconds < want[0] || seconds > want[1] {
				t.Errorf("LOCK=%s, %v left: %d %v, Retry-After %q, want %v", lock, left, r.status, r.body["code"],
					r.header.Get("Retry-After"), want)
			}
		}
	}
}
