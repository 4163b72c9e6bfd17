package zklock_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/zklock"
)

func TestWaiterKeepsItsPlaceAcrossADisconnect(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	proxy := labtest.Proxy(t, server.Address)
	l, err := zklock.Open([]string{proxy.Addr()}, 10*time.Second)
	check.NoError(t, err)
	defer l.Close()
	conn := connect(t, server)
	held := locktest.MustTryLock(t, open(t, server, 5*time.Second), key, ttl)
	got := wait(t, t.Context(), l, server, key)
	before := nodes(t, conn, key)
	proxy.Disconnect()
	time.Sleep(200 * time.Millisecond)
	if after := nodes(t, conn, key); len(after) != 2 || after[0] != before[0] || after[1] != before[1] {
		t.Errorf("the queue changed from %v to %v", before, after)
	}
	proxy.Inject(faultproxy.LoseRequest, key, 1) // the waiter's first request after its watch fires
	check.NoError(t, held.Release(t.Context()))
	check.NoError(t, <-got)
}

// Curator's revocation writes data into the holder's node. That is no release.
func TestChangedNodeOfTheHolderGrantsNothing(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	conn, l := connect(t, server), open(t, server, 5*time.Second)
	held := locktest.MustTryLock(t, l, key, ttl)
	got := wait(t, t.Context(), l, server, key)
	names := nodes(t, conn, key)
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a[len(a)-10:], b[len(b)-10:]) })
	_, err := conn.Set("/locks/"+key+"/"+names[0], []byte("__REVOKE__"), -1)
	check.NoError(t, err)
	select {
	case err := <-got:
		t.Fatalf("Lock behind a holder returned %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	check.NoError(t, held.Release(t.Context()))
	check.NoError(t, <-got)
}

// Other programs keep nodes of their own in the directory: a lock that counts them has
// no holder, and one that relies on their names panics.
func TestNodesThatAreNoLocksHoldNothing(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	conn, l := connect(t, server), open(t, server, time.Minute)
	createDirectory(t, conn, key)
	for _, name := range []string{"42", "item", "items", "lock-", "lock", "lock-1", "lock-x", "lock-99999999999",
		"lock-9999999999", "other-lock-0000000000", "0000000000", "_c_", "-lock-0000000000", "__LEASE__0000000000"} {
		_, err := conn.Create("/locks/"+key+"/"+name, nil, 0, zk.WorldACL(zk.PermAll))
		check.NoError(t, err)
	}
	check.NoError(t, locktest.MustTryLock(t, l, key, ttl).Release(t.Context()))
	lease, err := l.Lock(t.Context(), key, ttl)
	check.NoError(t, err)
	locktest.WantLocked(t, open(t, server, time.Minute), key)
	check.NoError(t, lease.Release(t.Context()))
}

// A Java client's nodes, and those whose counter has wrapped around, are places in the
// queue.
func TestEveryLockNodeIsAPlaceInTheQueue(t *testing.T) {
	t.Parallel()
	server := labtest.SharedZooKeeper(t)
	conn, l := connect(t, server), open(t, server, time.Minute)
	for _, name := range []string{"lock-0000000000", "lock--2147483648", "lock--000000001",
		"_c_01234567-89ab-4def-8123-456789abcdef-lock-0000000000",
		"_c_01234567-89ab-4def-8123-456789abcdef-__READ__0000000000", "__WRIT__0000000000"} {
		key := labtest.Name(t)
		createDirectory(t, conn, key)
		_, err := conn.Create("/locks/"+key+"/"+name, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		check.NoError(t, err)
		locktest.WantLocked(t, l, key)
	}
}

// createDirectory creates a lock's directory, which ZooKeeper will not delete.
func createDirectory(t *testing.T, conn *zk.Conn, key string) {
	t.Helper()
	if _, err := conn.CreateContainer("/locks", nil, zk.FlagContainer, zk.WorldACL(zk.PermAll)); err != nil &&
		!errors.Is(err, zk.ErrNodeExists) {
		t.Fatal(err)
	}
	_, err := conn.Create("/locks/"+key, nil, 0, zk.WorldACL(zk.PermAll))
	check.NoError(t, err)
}

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

// A program in Java has the lock of a key in the directory that docs/locks.md names.
func TestKeysMayLookLikePaths(t *testing.T) {
	t.Parallel()
	server := labtest.SharedZooKeeper(t)
	l, conn, marks := open(t, server, 5*time.Second), connect(t, server), "!\"#$&'()*+,-:;<=>?@[\\]^_`{|}~"
	for key, directory := range map[string]string{
		".": "%2E", "..": "%2E%2E", "/": "%2F", "%2F": "%252F", "a/b": "a%2Fb", marks: marks,
	} {
		lease := locktest.MustTryLock(t, l, key, ttl)
		if n := len(nodes(t, conn, directory)); n != 1 {
			t.Errorf("%d nodes in the directory %s of the key %s, want one", n, directory, key)
		}
		check.NoError(t, lease.Release(t.Context()))
	}
}
