// Package interop shares locks between this repository's drivers and Java's libraries: the real
// Redisson, and the real Curator. `make interop` runs it.
package interop

import (
	"context"
	"testing"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.RedisServer, lab.ZooKeeperServer) }

const (
	longTTL     = time.Minute // the longest session timeout that the lab's ZooKeeper grants
	testTimeout = 20 * time.Second
	// javaTimeout is how long the locks of a Java process last that says nothing: Redisson's
	// lockWatchdogTimeout, and Curator's session timeout.
	javaTimeout = 3 * time.Second
)

// A primitive is a lock or semaphore that both languages have.
type primitive struct {
	java      string                                      // its type in Interop.java
	locker    func(t *testing.T, name string) lock.Locker // a new client; nil for an RSemaphore
	acquire   acquireFunc                                 // if there is no locker
	waiters   func(t *testing.T, name string) int         // of a queue; nil if none is kept
	forcible  bool                                        // whether it has forceUnlock
	handovers int                                         // that make a test; 0 means minHandovers
}

// An acquireFunc acquires a primitive.
type acquireFunc func(ctx context.Context, name string, o lock.Options) (release func() error, err error)

func (p primitive) acquireFunc(t *testing.T, name string) acquireFunc {
	if p.locker == nil {
		return p.acquire
	}
	client := lock.New(p.locker(t, name))
	return func(ctx context.Context, name string, o lock.Options) (func() error, error) {
		acquired, err := client.Acquire(ctx, name, o)
		if err != nil {
			return nil, err
		}
		return func() error { return acquired.Release(context.Background()) }, nil
	}
}

// An env is the servers of a Java client, and the data that locks guard there.
type env struct {
	*java
	data store
}

// TestInterop shares every primitive between Java and Go, in both directions.
func TestInterop(t *testing.T) {
	labtest.NeedInterop(t)
	t.Run("redisson", shareRedisson)
	t.Run("cluster", shareInCluster)
	t.Run("redlock", shareRedlock)
	t.Run("curator", shareCurator)
}

// share shares p between the languages.
func (e env) share(t *testing.T, p primitive) {
	t.Run("JavaHoldsGoWaits", func(t *testing.T) { e.javaHoldsGoWaits(t, p) })
	t.Run("GoHoldsJavaWaits", func(t *testing.T) { e.goHoldsJavaWaits(t, p) })
	t.Run("Handover", func(t *testing.T) { e.handover(t, p) })
	if p.locker != nil { // a semaphore has no ttl
		t.Run("BothRenew", func(t *testing.T) { e.bothRenew(t, p) })
	}
	if p.waiters != nil {
		t.Run("InOrder", func(t *testing.T) { e.inOrder(t, p) })
	}
	if p.forcible {
		t.Run("BothForceUnlock", func(t *testing.T) { e.bothForceUnlock(t, p) })
	}
}

// name returns a new name for p. A semaphore with this name has one permit.
func (e env) name(t *testing.T, p primitive) string {
	t.Helper()
	name := labtest.Name(t)
	if p.java == "semaphore" || p.java == "permit" {
		e.thread(t).expect(t, "true", "trySetPermits", p.java, name, 1)
	}
	return name
}
