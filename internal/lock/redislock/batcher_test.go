package redislock_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
)

// Of each key's rivals one gets it, in rounds of several batches, and each is
// told of its own key.
func TestRoundsMixUpNobody(t *testing.T) {
	t.Parallel()
	const keys, rivals = 350, 3
	for _, shape := range []string{"single", "cluster"} {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			rdb := labtest.DialURL(t, labtest.Topology(t, shape).URL)
			l := redislock.Batched(rdb)
			var got [keys]atomic.Int32
			leases := make([]lock.Lease, keys)
			var all sync.WaitGroup
			for i := range keys * rivals {
				all.Go(func() {
					key := i % keys
					lease, err := l.TryLock(t.Context(), fmt.Sprint("k", key), time.Minute)
					if err == nil {
						got[key].Add(1)
						leases[key] = lease
					} else if !errors.Is(err, lock.ErrLocked) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			for key := range keys {
				if n := got[key].Load(); n != 1 {
					t.Fatalf("key %d: %d holders", key, n)
				}
				all.Go(func() {
					if err := leases[key].Release(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			for key := range keys {
				if _, err := redislock.New(rdb).TryLock(t.Context(), fmt.Sprint("k", key), time.Minute); err != nil {
					t.Errorf("key %d after its release: %v", key, err)
				}
			}
		})
	}
}

// A key that is something else than a lock is no verdict for who asks for it,
// and nothing to those in the same round.
func TestForeignKeyCostsNobodyElse(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	if err := rdb.HSet(t.Context(), "k7", "a", "b").Err(); err != nil {
		t.Fatal(err)
	}
	l := redislock.Batched(rdb)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			lease, err := l.TryLock(t.Context(), fmt.Sprint("k", i), time.Minute)
			if i == 7 {
				unknown(t, "TryLock of a hash", err)
				return
			}
			if err != nil {
				t.Error(err)
			} else if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if kept := rdb.HGet(t.Context(), "k7", "a").Val(); kept != "b" {
		t.Errorf("the hash holds %q now", kept)
	}
}

// What stops the whole server is told to everybody as unknown.
func TestReadOnlyServerGivesNoVerdict(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	l := redislock.Batched(rdb)
	lease, err := l.TryLock(t.Context(), "k", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := rdb.Do(t.Context(), "replicaof", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	_, err = l.TryLock(t.Context(), "other", time.Minute)
	unknown(t, "TryLock", err)
	unknown(t, "Release", lease.Release(t.Context()))
	if err := rdb.Do(t.Context(), "replicaof", "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Errorf("Release, when it can write again: %v", err)
	}
}

// A server that has forgotten the scripts did nothing at the first attempt: a
// lease that is gone by the second is lost, not released by the first.
func TestForgottenScriptIsNoRelease(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	for name, l := range map[string]lock.Locker{"plain": redislock.New(rdb), "batched": redislock.Batched(rdb)} {
		lease, err := l.TryLock(t.Context(), name, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(rdb.ScriptFlush(t.Context()).Err(), rdb.Del(t.Context(), name).Err()); err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("%s: Release = %v, want ErrLost", name, err)
		}
		again, err := l.TryLock(t.Context(), name, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(rdb.ScriptFlush(t.Context()).Err(), again.Release(t.Context())); err != nil {
			t.Errorf("%s: Release with the script forgotten: %v", name, err)
		}
	}
}
