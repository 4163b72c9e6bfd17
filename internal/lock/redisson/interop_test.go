package redisson_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redisson"
)

// An acquireFunc acquires one of Redisson's primitives.
type acquireFunc func(ctx context.Context, name string, o lock.Options) (release func() error, err error)

// acquireByClient returns an acquireFunc that uses a lock.Client of l.
func acquireByClient(l lock.Locker) acquireFunc {
	client := lock.New(l)
	return func(ctx context.Context, name string, o lock.Options) (func() error, error) {
		acquired, err := client.Acquire(ctx, name, o)
		if err != nil {
			return nil, err
		}
		return func() error { return acquired.Release(context.Background()) }, nil
	}
}

// A primitive is a lock or semaphore of Redisson.
type primitive struct {
	java     string                                            // its type in Interop.java
	forcible bool                                              // whether it has forceUnlock
	locker   func(c *redisson.Client, name string) lock.Locker // nil for an RSemaphore
}

var primitives = []primitive{
	{"lock", true, func(c *redisson.Client, _ string) lock.Locker { return c.Lock() }},
	{"fair", true, func(c *redisson.Client, _ string) lock.Locker { return c.FairLock() }},
	{"fenced", true, func(c *redisson.Client, _ string) lock.Locker { return c.FencedLock() }},
	{"write", true, func(c *redisson.Client, _ string) lock.Locker { return c.WriteLock() }},
	{"multi", false, func(c *redisson.Client, name string) lock.Locker {
		return redisson.NewMultiLock(redisson.Part{Locker: c.Lock(), Key: name + ":1"}, redisson.Part{Locker: c.Lock(), Key: name + ":2"})
	}},
	{"permit", false, func(c *redisson.Client, _ string) lock.Locker { return c.PermitExpirableSemaphore() }},
	{"semaphore", false, nil},
}

func (p primitive) acquireFunc(c *redisson.Client, name string) acquireFunc {
	if p.locker != nil {
		return acquireByClient(p.locker(c, name))
	}
	return func(ctx context.Context, name string, o lock.Options) (func() error, error) {
		s := c.Semaphore(name)
		if o.Wait == 0 {
			if err := s.TryAcquire(ctx, 1); err != nil {
				return nil, err
			}
		} else if err := s.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		return func() error { return s.Release(context.Background(), 1) }, nil
	}
}

// watchdogTimeout is Redisson's lockWatchdogTimeout: the ttl that Java renews.
const watchdogTimeout = 3 * time.Second

// An interopEnv is one Redis with a Java client and a Go client.
type interopEnv struct {
	*labtest.Java
	rdb    redis.UniversalClient
	report *interopReport
}

// TestInterop shares every primitive between the real Redisson and this package,
// in both directions. `make interop` runs it.
func TestInterop(t *testing.T) {
	labtest.NeedInterop(t)
	server, err := lab.StartRedisTCP(labtest.Lab(t))
	noError(t, err)
	t.Cleanup(server.Kill)
	java := labtest.StartJava(t, "testdata/interop", server.URL, "port", fmt.Sprint(watchdogTimeout.Milliseconds()))
	e := interopEnv{java, labtest.Dial(t, server), &interopReport{Redisson: labtest.JavaVersion(t, "testdata/interop", "redisson"), ByPrimitive: map[string]handoverResults{}}}
	t.Cleanup(func() { e.report.write(t) })
	t.Run("all", func(t *testing.T) {
		for _, p := range primitives {
			t.Run(p.java, func(t *testing.T) {
				t.Parallel()
				t.Run("JavaHoldsGoWaits", func(t *testing.T) { e.javaHoldsGoWaits(t, p) })
				t.Run("GoHoldsJavaWaits", func(t *testing.T) { e.goHoldsJavaWaits(t, p) })
				t.Run("Handover", func(t *testing.T) { e.handover(t, p) })
				if p.locker != nil { // a semaphore has no ttl
					t.Run("BothRenew", func(t *testing.T) { e.bothRenew(t, p) })
				}
				if p.forcible {
					t.Run("BothForceUnlock", func(t *testing.T) { e.bothForceUnlock(t, p) })
				}
			})
		}
		t.Run("latch", func(t *testing.T) { t.Parallel(); e.latch(t) })
		t.Run("readers", func(t *testing.T) { t.Parallel(); e.readers(t) })
		t.Run("fences", func(t *testing.T) { t.Parallel(); e.fences(t) })
		t.Run("fairOrder", func(t *testing.T) { t.Parallel(); e.fairOrder(t) })
	})
}

// name returns a new name for p. A semaphore with this name has one permit.
func (e interopEnv) name(t *testing.T, p primitive) string {
	t.Helper()
	name := labtest.Name(t)
	if p.java == "semaphore" || p.java == "permit" {
		e.Thread(t).Expect(t, "true", "trySetPermits", p.java, name, 1)
	}
	return name
}

func (e interopEnv) client() *redisson.Client { return redisson.New(e.rdb, redisson.Auto) }
