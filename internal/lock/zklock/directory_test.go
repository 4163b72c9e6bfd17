package zklock_test

import (
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
)

func TestEmptyDirectoryIsDeletedAndTheFenceStillRises(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	conn, l := connect(t, server), open(t, server, 5*time.Second)
	first := mustTryLock(t, l, key)
	noError(t, "Release", first.Release(t.Context()))
	eventually(t, "the directory to be deleted", func() bool {
		exists, _, err := conn.Exists("/locks/" + key)
		return err == nil && !exists
	})
	if again := mustTryLock(t, l, key); again.Fence() <= first.Fence() {
		t.Errorf("fence %d after %d and the deletion of the directory, want a higher one", again.Fence(),
			first.Fence())
	}
}

func TestKeysMayLookLikePaths(t *testing.T) {
	t.Parallel()
	l := open(t, labtest.SharedZooKeeper(t), 5*time.Second)
	key := labtest.Name(t)
	for _, key := range []string{".", "..", "/", "%2F", key + "/a", key, key + "/../" + key} {
		noError(t, "Release "+key, mustTryLock(t, l, key).Release(t.Context()))
	}
	for _, key := range []string{key + "/", key + "%2F"} {
		mustTryLock(t, l, key)
	}
}
