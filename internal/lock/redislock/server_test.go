package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
)

// quick is a client of server that gives up on silence soon.
func quick(tb testing.TB, url string) redis.UniversalClient {
	o, err := redis.ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = 250*time.Millisecond, 250*time.Millisecond, 250*time.Millisecond
	o.ContextTimeoutEnabled = true
	rdb := redis.NewClient(o)
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func TestPausedServerGivesNoVerdict(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	l := redislock.New(quick(t, server.URL))
	lease, err := l.TryLock(t.Context(), "k", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	server.Pause()
	_, err = l.TryLock(t.Context(), "k", time.Second)
	unknown(t, "TryLock", err)
	unknown(t, "Extend", lease.Extend(t.Context(), time.Minute))
	unknown(t, "Release", lease.Release(t.Context()))
	server.Resume()
	if err := lease.Release(t.Context()); err != nil {
		t.Errorf("Release, when the server is back: %v", err)
	}
}

func unknown(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) {
		t.Errorf("%s: %v, want an error that is no verdict", what, err)
	}
}

func TestHolderHearsThatTheServerForgot(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	l := redislock.Fenced(quick(t, server.URL))
	h, err := lock.New(l).Acquire(t.Context(), "k", lock.Options{TTL: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.Done():
	case <-time.After(3 * time.Second):
		t.Error("the holder believes on, after its lease")
	}
	if err := h.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release = %v, want ErrLost", err)
	}
	next, err := l.TryLock(t.Context(), "k", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if next.Fence() <= h.Fence() {
		t.Errorf("fence %d after the loss of all data, %d before", next.Fence(), h.Fence())
	}
}

func TestHolderOutlivesAShortOutage(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	h, err := lock.New(redislock.New(quick(t, server.URL))).Acquire(t.Context(), "k", lock.Options{TTL: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	server.Pause()
	time.Sleep(1500 * time.Millisecond)
	server.Resume()
	time.Sleep(3 * time.Second)
	if err := h.Release(t.Context()); err != nil {
		t.Errorf("Release = %v", err)
	}
}

// A hundred thousand cycles, some of them through a wait, leave nothing: no
// goroutine, no subscription, no key.
func TestCyclesLeaveNothing(t *testing.T) {
	const workers = 8
	cycles := 100_000
	if testing.Short() {
		cycles = 5_000
	}
	server := labtest.Redis(t)
	rdb := labtest.Dial(t, server)
	c := lock.New(redislock.New(rdb))
	before := runtime.NumGoroutine()
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := range cycles / workers {
				key, o := fmt.Sprintf("k:%d:%d", worker, i), lock.Options{TTL: time.Minute}
				if i%100 == 0 {
					key, o.Wait = "shared", -1
				}
				err := c.Do(t.Context(), key, o, func(context.Context, *lock.Lock) error { return nil })
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if keys := rdb.DBSize(t.Context()).Val(); keys != 0 {
		t.Errorf("%d keys are left", keys)
	}
	var goroutines, channels int
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		goroutines, channels = runtime.NumGoroutine(), len(rdb.PubSubChannels(t.Context(), "*").Val())
		if goroutines <= before && channels == 0 {
			return
		}
	}
	t.Errorf("%d goroutines (%d before) and %d subscriptions are left", goroutines, before, channels)
}

// The key is taken and no reply ever comes; the driver must clean up.
func TestUnknownAttemptLeavesNoKey(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	line, err := faultproxy.New("unix", strings.TrimPrefix(server.URL, "unix://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = line.Close() })
	line.Inject(faultproxy.LoseReply, "$2\r\npx\r\n", faultproxy.Always)
	_, err = redislock.New(dial(t, line.Addr())).TryLock(t.Context(), "k", time.Minute)
	unknown(t, "TryLock", err)
	if line.Hits() == 0 {
		t.Error("no reply was lost")
	}
	if n := labtest.Dial(t, server).Exists(t.Context(), "k").Val(); n != 0 {
		t.Error("the key is left")
	}
}
