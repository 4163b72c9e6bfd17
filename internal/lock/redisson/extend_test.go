package redisson_test

import (
	"errors"
	"fmt"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
)

// Another client replaces one of the locks by a string.
func TestKeyOfAnotherTypeLosesOnlyItsOwnLease(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	for name, l := range lockTypes(newClient(t, server)) {
		leases := lockTen(t, l, name)
		key := name + "7"
		if name == "permit" {
			key = "{permit7}:timeout"
		}
		check.NoError(t, labtest.Dial(t, server).Set(t.Context(), key, "", 0).Err())
		for i, lease := range leases {
			err := lease.Extend(t.Context(), longTTL)
			if lost := errors.Is(err, lock.ErrLost); lost != (i == 7) || err != nil && !lost {
				t.Errorf("extension of %s%d = %v", name, i, err)
			}
		}
	}
}

func lockTypes(c *redisson.Client) map[string]lock.Locker {
	return map[string]lock.Locker{"lock": c.Lock(), "fair": c.FairLock(), "fenced": c.FencedLock(),
		"read": c.ReadLock(), "write": c.WriteLock(), "permit": c.PermitExpirableSemaphore()}
}

// lockTen locks ten keys: name and a number.
func lockTen(t *testing.T, l lock.Locker, name string) (leases []lock.Lease) {
	t.Helper()
	for i := range 10 {
		key := fmt.Sprint(name, i)
		if permits, ok := l.(redisson.RPermitExpirableSemaphore); ok {
			check.NoError(t, permits.SetPermits(t.Context(), key, 1))
		}
		leases = append(leases, locktest.MustTryLock(t, l, key, longTTL))
	}
	return leases
}
