package ratelimit

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/check"
)

func TestBurstAndThenTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New[int64](10, 5)
		for second, want := range []int{5, 5, 5} { // never more than the burst at once
			allowed := 0
			for range 100 {
				if l.Allow(42) {
					allowed++
				}
			}
			if allowed != want {
				t.Errorf("second %d: %d allowed, want %d", second, allowed, want)
			}
			time.Sleep(time.Second)
		}
		allowed := 0
		for range 1000 {
			if l.Allow(42) {
				allowed++
			}
			time.Sleep(10 * time.Millisecond)
		}
		if allowed < 100 || allowed > 105 {
			t.Errorf("%d allowed in 10 s, want 10 each second and the burst", allowed)
		}
	})
}

func TestConcurrentRequestsShareOneBucket(t *testing.T) {
	t.Parallel()
	l := New[int64](0.001, 50)
	var allowed atomic.Int64
	check.AtOnce(100, func(int) {
		for range 100 {
			if l.Allow(42) {
				allowed.Add(1)
			}
		}
	})
	if n := allowed.Load(); n != 50 {
		t.Errorf("%d allowed, want the burst of 50", n)
	}
}

func TestGreedyKeySharesItsBucketWithFewOthers(t *testing.T) {
	t.Parallel()
	const burst = 1000
	l := New[int64](0.001, burst)
	for range burst {
		l.Allow(0)
	}
	refused := 0
	for key := range int64(buckets) {
		if !l.Allow(key + 1) {
			refused++
		}
	}
	if refused > 10 { // the expected number is 1
		t.Errorf("%d of %d keys are refused because of another key", refused, buckets)
	}
}

// All users of a large sale click seven times at one moment.
func TestCrowdIsNotRefused(t *testing.T) {
	t.Parallel()
	l := New[int64](20, 100)
	for user := range int64(20_000) {
		for range 7 {
			if !l.Allow(user) {
				t.Fatalf("user %d is refused", user)
			}
		}
	}
}

func TestMemoryDoesNotGrowWithTheKeys(t *testing.T) {
	l := New[int64](10, 5)
	before := heap()
	for key := range int64(1_000_000) {
		l.Allow(key)
	}
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("a million keys take %d bytes", grown)
	}
	runtime.KeepAlive(l)
}

func TestNilAllowsEverything(t *testing.T) {
	t.Parallel()
	l := New[int64](0, 1)
	for range 1000 {
		if !l.Allow(42) {
			t.Fatal("refused")
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
