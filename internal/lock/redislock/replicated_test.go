package redislock_test

import (
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redislock"
)

// How long replicas may take: as long as the client's time-out of 1 s allows, or, where
// one of them has been stopped, as short as leaves the client enough time on a busy
// machine.
const most, least = 900 * time.Millisecond, 100 * time.Millisecond

// newReplicated returns a locker that requires n replicas within a time.
func newReplicated(tb testing.TB, url string, n int, within time.Duration) *redislock.Locker {
	tb.Helper()
	l, err := redislock.Replicated(tb.Context(), labtest.DialURL(tb, url), n, within)
	check.NoError(tb, err)
	return l
}

func TestReplicatedConformance(t *testing.T) {
	t.Parallel()
	url := labtest.Topology(t, "replicas").URL
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return newReplicated(tb, url, 1, most) })
}

func TestTooFewReplicasGrantNoLock(t *testing.T) {
	t.Parallel()
	top := labtest.Topology(t, "replicas")
	two, three, plain := newReplicated(t, top.URL, 2, most), newReplicated(t, top.URL, 3, least),
		redislock.New(labtest.DialURL(t, top.URL))
	top.Nodes[3].Pause()
	if _, err := three.TryLock(t.Context(), "k", time.Minute); !errors.Is(err, redislock.ErrUnreplicated) {
		t.Errorf("TryLock with 2 of 3 replicas: %v, want ErrUnreplicated", err)
	}
	lease, err := two.TryLock(t.Context(), "k", time.Minute)
	if err != nil {
		t.Fatalf("TryLock after ErrUnreplicated: %v, want the key to be free", err)
	}
	locktest.WantLocked(t, three, "k")
	check.NoError(t, lease.Release(t.Context()))
	locktest.MustTryLock(t, plain, "k", time.Minute)
}

// The SET that is repeated finds its own token.
func TestLostReplyGrantsNoUnreplicatedLock(t *testing.T) {
	t.Parallel()
	top := labtest.Topology(t, "replicas")
	proxy := labtest.Proxy(t, top.Nodes[0].Address)
	three := newReplicated(t, "redis://"+proxy.Addr(), 3, least)
	top.Nodes[3].Pause()
	proxy.Inject(faultproxy.LoseReply, "$2\r\npx\r\n", 1)
	if _, err := three.TryLock(t.Context(), "k", time.Minute); !errors.Is(err, redislock.ErrUnreplicated) {
		t.Errorf("TryLock with 2 of 3 replicas: %v, want ErrUnreplicated", err)
	}
}

func TestReplicatedNeedsWAIT(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"cluster":     labtest.SharedCluster(t).URL,
		"no WAIT":     labtest.Redis(t, "--rename-command", "WAIT", "").URL,
		"unavailable": "redis://127.0.0.1:1",
	} {
		if _, err := redislock.Replicated(t.Context(), labtest.DialURL(t, url), 1, 100*time.Millisecond); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := redislock.Replicated(t.Context(), labtest.Dial(t, labtest.Redis(t)), 1, time.Hour); err == nil {
		t.Error("a timeout longer than the client's is accepted")
	}
}
