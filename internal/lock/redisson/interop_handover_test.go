package redisson_test

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

const (
	minHandovers = 1600 // of each primitive
	contenders   = 2    // of each language
)

// readCounters reads the data that the lock protects. A holder writes two copies of it by
// two commands, so that two holders at a time may leave different copies.
func readCounters(ctx context.Context, rdb redis.UniversalClient, name string) (labtest.Counters, error) {
	text, err := rdb.Get(ctx, name+":protected").Result()
	if err != nil {
		return labtest.Counters{}, err
	}
	return labtest.ParseCounters(text)
}

func (p primitive) minHandovers() int { return cmp.Or(p.handovers, minHandovers) }

// handover: Java threads and goroutines acquire the lock until it has been
// handed over often enough. Every acquisition must have been counted.
func (e interopEnv) handover(t *testing.T, p primitive) {
	name := e.name(t, p)
	for _, counters := range []string{":protected", ":copy"} {
		check.NoError(t, e.rdb.Set(t.Context(), name+counters, labtest.NoCounters, 0).Err())
	}
	var group sync.WaitGroup
	var acquisitions atomic.Int64
	for i := range contenders {
		th := e.Thread(t)
		group.Go(func() {
			reply, err := th.Call("contend", p.java, name, p.minHandovers(), fmt.Sprintf("java%d", i))
			n, err2 := strconv.Atoi(reply)
			if err != nil || err2 != nil {
				t.Errorf("Java: %s, %v", reply, err)
			}
			acquisitions.Add(int64(n))
		})
		acquire := p.acquireFunc(e.client(), name)
		group.Go(func() {
			n, err := e.contend(t.Context(), acquire, name, fmt.Sprintf("go%d", i), p.minHandovers())
			if err != nil {
				t.Errorf("Go: %v", err)
			}
			acquisitions.Add(int64(n))
		})
	}
	if p.java == "write" {
		e.readDuringHandover(t, name)
	}
	group.Wait()
	c, err := readCounters(t.Context(), e.rdb, name)
	check.NoError(t, err)
	t.Log("acquisitions, handovers, the last contender, handovers between languages:", c)
	if int64(c.Acquisitions) != acquisitions.Load() || c.Handovers < p.minHandovers() || c.BetweenLanguages == 0 {
		t.Errorf("%d acquisitions, want %d handovers, and some between Java and Go", acquisitions.Load(), p.minHandovers())
	}
}

// contend acquires the lock until it has been handed over min times. It returns
// the number of its own acquisitions.
func (e interopEnv) contend(
	ctx context.Context, acquire acquireFunc, name, contender string, min int,
) (n int, err error) {
	for ; ; n++ {
		release, err := acquire(ctx, name, lock.Options{Wait: longTTL})
		if err != nil {
			return n, err
		}
		c, err := readCounters(ctx, e.rdb, name)
		done := c.Handovers >= min
		if err == nil && !done {
			next := c.Add(contender).String()
			err = e.rdb.Set(ctx, name+":protected", next, 0).Err()
			if err == nil {
				err = e.rdb.Set(ctx, name+":copy", next, 0).Err()
			}
		}
		if releaseErr := release(); err == nil {
			err = releaseErr
		}
		if err != nil || done {
			return n, err
		}
		time.Sleep(time.Millisecond) // gives the lock to another contender
	}
}

// readDuringHandover compares the two copies under the read lock, in both
// languages, until the writers are done.
func (e interopEnv) readDuringHandover(t *testing.T, name string) {
	t.Helper()
	th, l := e.Thread(t), lock.New(e.client().ReadLock())
	for {
		th.Expect(t, "ok", "compareCopies", "read", name)
		acquired, err := l.Acquire(t.Context(), name, lock.Options{Wait: longTTL})
		check.NoError(t, err)
		c, err := readCounters(t.Context(), e.rdb, name)
		check.NoError(t, err)
		text, err := e.rdb.Get(t.Context(), name+":copy").Result()
		check.NoError(t, err)
		check.NoError(t, acquired.Release(t.Context()))
		if c.String() != text {
			t.Fatalf("a reader saw two copies: %s and %s", c, text)
		}
		if c.Handovers >= minHandovers {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
