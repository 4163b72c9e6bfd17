package main

import (
	"strings"
	"testing"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/lab/labtest"
)

// Redis keys that outlive their claim would grow with the number of users.
func TestLocksInRedisLeaveNoKeyForAUser(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"redis", "redisson"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			env := settings(t, map[string]string{"LOCK": lock})
			i, rdb := start(t, env).ready(t), labtest.DialURL(t, env["REDIS_URL"])
			path := "/coupons/" + i.createCoupon(t, 1) + "/orders"
			for user := range int64(3) {
				i.post(t, path, tokenFor(t, user+1, auth.RoleUser), "")
			}
			var left []string
			eventually(t, func() bool {
				left = nil
				for _, key := range rdb.Keys(t.Context(), "*").Val() {
					if !strings.HasPrefix(key, "flashsale:icr:") { // the id counters, one a day
						left = append(left, key)
					}
				}
				return len(left) == 0
			})
			if len(left) > 0 {
				t.Errorf("keys after all claims: %v", left)
			}
		})
	}
}
