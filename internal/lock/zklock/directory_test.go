package zklock_test

import (
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/locktest"
)

func TestEmptyDirectoryIsDeletedAndTheFenceStillRises(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	conn, l := connect(t, server), open(t, server, 5*time.Second)
	first := locktest.MustTryLock(t, l, key, ttl)
	check.NoError(t, first.Release(t.Context()))
	check.Eventually(t, "the directory to be deleted", func() bool {
		exists, _, err := conn.Exists("/locks/" + key)
		return err == nil && !exists
	})
	if again := locktest.MustTryLock(t, l, key, ttl); again.Fence() <= first.Fence() {
		t.Errorf("fence %d after %d and the deletion of the directory, want a higher one", again.Fence(),
			first.Fence())
	}
}

func TestKeysMayLookLikePaths(t *testing.T) {
	t.Parallel()
	l := open(t, labtest.SharedZooKeeper(t), 5*time.Second)
	key := labtest.Name(t)
	for _, key := range []string{".", "..", "/", "%2F", key + "/a", key, key + "/../" + key} {
		check.NoError(t, locktest.MustTryLock(t, l, key, ttl).Release(t.Context()))
	}
	for _, key := range []string{key + "/", key + "%2F"} {
		locktest.MustTryLock(t, l, key, ttl)
	}
}
