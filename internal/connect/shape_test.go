package connect_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redisson"
)

// TestLocksAndIDsWorkInEveryShape also kills the master of every key in use,
// where something takes its place.
func TestLocksAndIDsWorkInEveryShape(t *testing.T) {
	t.Parallel()
	for _, shape := range lab.Topologies {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			top := labtest.Topology(t, shape)
			u := newUsers(t, top.URL)
			u.work(t)
			if shape == "single" || shape == "replicas" {
				return
			}
			master, err := top.Master(t.Context(), "lock0")
			if err != nil {
				t.Fatal(err)
			}
			master.Kill()
			u.recover(t)
			u.work(t)
		})
	}
}

// users are all users of one Redis.
type users struct {
	rdb     redis.UniversalClient
	ids     *idgen.Worker
	seen    map[int64]bool
	lockers map[string]lock.Locker
}

func newUsers(t *testing.T, url string) *users {
	rdb := labtest.DialURL(t, url)
	java := redisson.New(rdb, redisson.Auto)
	return &users{rdb, idgen.New(rdb, "order"), map[int64]bool{}, map[string]lock.Locker{
		"redislock": redislock.New(rdb), "fenced": redislock.Fenced(rdb), "batched": redislock.Batched(rdb),
		"redisson": java.Lock(), "redisson fair": java.FairLock(), "redisson fenced": java.FencedLock(),
	}}
}

// recover waits until both the ids and every locker answer again.
func (u *users) recover(t *testing.T) {
	t.Helper()
	began := time.Now()
	for name := range u.lockers {
		u.await(t, name, func(ctx context.Context) error {
			return lock.New(u.lockers[name]).Do(ctx, "lock0", lock.Options{TTL: time.Second}, nothing)
		})
	}
	u.await(t, "ids", func(ctx context.Context) error { _, err := u.ids.Next(ctx); return err })
	t.Logf("away for %s", time.Since(began))
}

func nothing(context.Context, *lock.Lock) error { return nil }

func (u *users) await(t *testing.T, name string, ok func(context.Context) error) {
	t.Helper()
	began := time.Now()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		err := ok(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Since(began) > 30*time.Second {
			t.Fatalf("%s is not back after 30 s: %v", name, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// work has a crowd count under each lock, on keys of several slots, and takes
// ids.
func (u *users) work(t *testing.T) {
	t.Helper()
	for name, l := range u.lockers {
		for k := range 3 {
			u.count(t, name, l, fmt.Sprint("lock", k))
		}
		u.wakes(t, name, l)
	}
	for range 2000 {
		id, err := u.ids.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if u.seen[id] {
			t.Fatalf("id %d again", id)
		}
		u.seen[id] = true
	}
}

func (u *users) count(t *testing.T, name string, l lock.Locker, key string) {
	t.Helper()
	const crowd = 16
	c := lock.New(l)
	counter := 0 // the race detector watches it too
	var all sync.WaitGroup
	for range crowd {
		all.Go(func() {
			err := c.Do(t.Context(), key, lock.Options{TTL: 5 * time.Second, Wait: 20 * time.Second}, func(context.Context, *lock.Lock) error {
				counter++
				return nil
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
	if counter != crowd {
		t.Errorf("%s: counted %d, want %d", name, counter, crowd)
	}
}

// wakes expects the waiter to hear of a release, not to find out by its timer.
func (u *users) wakes(t *testing.T, name string, l lock.Locker) {
	t.Helper()
	n, ok := l.(lock.Notifier)
	if !ok {
		return
	}
	wake := make(chan struct{}, 1)
	stop, err := n.Notify("lock0", wake)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer stop()
	awaitWake(t, name, wake) // it listens
	for drained := false; !drained; {
		select {
		case <-wake:
		case <-time.After(100 * time.Millisecond):
			drained = true
		}
	}
	if err := lock.New(l).Do(t.Context(), "lock0", lock.Options{TTL: time.Minute, Wait: 20 * time.Second}, nothing); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	awaitWake(t, name, wake)
}

func awaitWake(t *testing.T, name string, wake <-chan struct{}) {
	t.Helper()
	select {
	case <-wake:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s: no wake-up in 10 s", name)
	}
}

func TestURLCarriesUserPasswordAndTLS(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"rediss://user:secret@localhost:1", "rediss+sentinel://localhost:1?master_name=m&username=user&password=secret",
		"rediss+cluster://user:secret@localhost:1",
	} {
		rdb := labtest.DialURL(t, url)
		var got redis.Options
		switch rdb := rdb.(type) {
		case *redis.Client:
			got = *rdb.Options()
		case *redis.ClusterClient:
			o := rdb.Options()
			got = redis.Options{Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig}
		}
		if got.Username != "user" || got.Password != "secret" || got.TLSConfig == nil {
			t.Errorf("%s: user %q, password %q, TLS %v", url, got.Username, got.Password, got.TLSConfig != nil)
		}
	}
}

func TestBadRedisURLIsRefusedUnquoted(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "redis", "http://user:hunter2@host", "redis+ring://user:hunter2@host:1",
		"redis+sentinel://user:hunter2@host:1", "redis+sentinel://user:hunter2@host:1?master_name=m&nonsense=1",
		"redis+cluster://user:hunter2@host:1?nonsense=1", "unix+cluster:///path?password=hunter2", "redis://user:hunter2@host:1/x",
	} {
		rdb, err := connect.Redis(url, 1)
		if err == nil {
			_ = rdb.Close()
			t.Errorf("%s is accepted", url)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error quotes a password: %v", err)
		}
	}
}
