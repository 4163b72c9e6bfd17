package redislock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver/redisdriver"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redislock"
)

func TestMain(m *testing.M) { labtest.Parallel = 20; labtest.Main(m, lab.RedisServer) }

var promises = locktest.Promises{Exclusive: true, Expires: true, Notifies: true, Tells: true,
	Tick: 10 * time.Millisecond}

func fenced(p locktest.Promises) locktest.Promises { p.Fences = true; return p }

func TestConformance(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	t.Run("New", func(t *testing.T) {
		t.Parallel()
		locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return redislock.New(labtest.Dial(tb, server)) })
	})
	t.Run("Fenced", func(t *testing.T) {
		t.Parallel()
		locktest.Run(t, fenced(promises),
			func(tb testing.TB) lock.Locker { return redislock.Fenced(labtest.Dial(tb, server)) })
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	dial := func(tb testing.TB, hostport string) redis.UniversalClient {
		return labtest.DialURL(tb, "redis://"+hostport)
	}
	locktest.RunFaults(t, promises, true, server.URL,
		func(tb testing.TB, hostport string) lock.Locker { return redislock.New(dial(tb, hostport)) })
	t.Run("Fenced", func(t *testing.T) { // differs in the script that acquires
		locktest.RunLostReplies(t, fenced(promises), server.URL,
			func(tb testing.TB, hostport string) lock.Locker { return redislock.Fenced(dial(tb, hostport)) })
	})
}

func TestFenceKeyIsInTheSlotOfEveryKeyAndNoKeyOfALock(t *testing.T) {
	t.Parallel()
	keys := []string{"x", "{x}", "a{b}c", "{}x", "a{b", "}{", "a}b", "{}", "}", "{", "a}{b}", "{}{x}", "{{x}}"}
	fences := map[string]bool{}
	for _, key := range keys {
		fence := redislock.FenceKey(key)
		if redisdriver.Slot(fence) != redisdriver.Slot(key) || fences[fence] {
			t.Errorf("the fence of %s is stored in %s: not its slot, or that of another key", key, fence)
		}
		fences[fence] = true
		_, err := lock.New(lock.Local()).Acquire(t.Context(), fence, lock.Options{})
		if !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("lock of %s: %v, want ErrInvalid", fence, err)
		}
	}
	l := redislock.Fenced(labtest.DialURL(t, labtest.SharedCluster(t).URL))
	for _, key := range keys {
		locktest.MustTryLock(t, l, key, time.Minute)
	}
}

func TestOutages(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(redis.UniversalClient) *redislock.Locker{
		"New": redislock.New, "Fenced": redislock.Fenced,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := labtest.Redis(t)
			locktest.RunOutages(t, server.Server, false,
				func(tb testing.TB) lock.Locker { return open(labtest.DialURL(tb, server.URL)) })
		})
	}
}
