package connect_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redisson"
)

// toReplicas are what a URL may ask for, and does not get.
var toReplicas = map[string]string{
	"sentinel": "&replica_only=true", "cluster": "&read_only=true&route_randomly=true",
}

// The test also kills the master of the keys in use, if the topology replaces
// it.
func TestLocksAndIDsWorkInEveryTopology(t *testing.T) {
	t.Parallel()
	for _, topology := range lab.Topologies {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			server := labtest.Topology(t, topology)
			c := newClients(t, server.URL+toReplicas[topology])
			c.work(t)
			if topology == "single" || topology == "replicas" {
				return
			}
			master, err := server.Master(t.Context(), "lock0")
			check.NoError(t, err)
			master.Kill()
			c.recover(t)
			c.work(t)
		})
	}
}

// clients are the lock drivers and the id worker on one Redis.
type clients struct {
	rdb     redis.UniversalClient
	ids     *idgen.Worker
	seen    map[int64]bool
	lockers map[string]lock.Locker
}

func newClients(t *testing.T, url string) *clients {
	rdb := labtest.DialURL(t, url)
	client := redisson.New(rdb)
	return &clients{rdb, idgen.New(rdb, "order"), map[int64]bool{}, map[string]lock.Locker{
		"redislock": redislock.New(rdb), "fenced": redislock.Fenced(rdb),
		"redisson": client.Lock(), "redisson fair": client.FairLock(), "redisson fenced": client.FencedLock(),
	}}
}

// recover waits until the id worker and every lock driver succeed again.
func (c *clients) recover(t *testing.T) {
	t.Helper()
	for name, l := range c.lockers {
		check.Eventually(t, name, func() bool {
			return briefly(t, func(ctx context.Context) error {
				return lock.New(l).Do(ctx, "lock0", lock.Options{TTL: time.Second},
					func(context.Context, *lock.Lock) error { return nil })
			})
		})
	}
	check.Eventually(t, "ids", func() bool {
		return briefly(t, func(ctx context.Context) error { _, err := c.ids.Next(ctx); return err })
	})
}

// briefly reports whether call succeeds within two seconds.
func briefly(t *testing.T, call func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	return call(ctx) == nil
}

// work increments a counter under each lock, on keys of several slots, and takes
// ids.
func (c *clients) work(t *testing.T) {
	t.Helper()
	for name, l := range c.lockers {
		for k := range 3 {
			c.count(t, name, l, fmt.Sprint("lock", k))
		}
	}
	for range 2000 {
		id, err := c.ids.Next(t.Context())
		check.NoError(t, err)
		if c.seen[id] {
			t.Fatalf("id %d was given twice", id)
		}
		c.seen[id] = true
	}
}

func (c *clients) count(t *testing.T, name string, l lock.Locker, key string) {
	t.Helper()
	const goroutines = 16
	locks := lock.New(l)
	counter := 0 // not atomic: the race detector checks the lock as well
	check.AtOnce(goroutines, func(int) {
		err := locks.Do(t.Context(), key, lock.Options{TTL: 5 * time.Second, Wait: 20 * time.Second},
			func(context.Context, *lock.Lock) error {
				counter++
				return nil
			})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	if counter != goroutines {
		t.Errorf("%s: counted %d, want %d", name, counter, goroutines)
	}
}
