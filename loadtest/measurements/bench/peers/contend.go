package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/loadtest/stats"
)

// A waitResult sums up waiters.
type waitResult struct {
	Acquired  int   `json:"acquired"`
	HandOvers int   `json:"hand_overs"` // acquired by another waiter than the previous time
	WaitsUS   []int `json:"waits_us,omitempty"`
}

func sum(results []waitResult) (all waitResult) {
	for _, r := range results {
		all.Acquired += r.Acquired
		all.HandOvers += r.HandOvers
		all.WaitsUS = append(all.WaitsUS, r.WaitsUS...)
	}
	return all
}

// A contention is the output of contend.
type contention struct {
	waitResult
	Seconds float64 `json:"seconds"`
	P99MS   float64 `json:"p99_ms"`
	MaxMS   float64 `json:"max_ms"`
	Calls   int     `json:"calls"`
}

// contend starts several processes with many waiters each, all for one lock.
func contend(ctx context.Context, j job) (any, error) {
	before, err := serverCalls(ctx, j.calls)
	if err != nil {
		return nil, err
	}
	start := time.Now().Add(500 * time.Millisecond).UnixMilli() // all processes are up by then; also part of the key
	results, err := spawn(ctx, j.numbers[0], []string{
		"wait", j.lock, j.duration.String(), strconv.FormatInt(start, 10), strconv.Itoa(j.numbers[1]),
	})
	if err != nil {
		return nil, err
	}
	after, err := serverCalls(ctx, j.calls)
	all := sum(results)
	waits := all.WaitsUS
	all.WaitsUS = nil
	return contention{
		waitResult: all, Seconds: j.duration.Seconds(), Calls: after - before,
		P99MS: float64(stats.Quantile(waits, 0.99)) / 1000, MaxMS: float64(stats.Quantile(waits, 1)) / 1000,
	}, err
}

// spawn runs several processes of this program at the same time.
func spawn(ctx context.Context, processes int, args []string) ([]waitResult, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	results, errs := make([]waitResult, processes), make([]error, processes)
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			cmd := exec.CommandContext(ctx, self, args...)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err == nil {
				err = json.Unmarshal(out, &results[i])
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return results, errors.Join(errs...)
}

// wait is the command of one process. Its waiters acquire the lock again and
// again.
func wait(ctx context.Context, j job) (any, error) {
	rdb, err := goRedis(os.Getenv("REDIS_URL"))
	if err != nil {
		return nil, err
	}
	start, key := time.UnixMilli(int64(j.numbers[0])), fmt.Sprintf("contended:%d", j.numbers[0])
	ctx, cancel := context.WithDeadline(ctx, start.Add(j.duration))
	defer cancel()
	results, errs := make([]waitResult, j.numbers[1]), make([]error, j.numbers[1])
	time.Sleep(time.Until(start))
	var wg sync.WaitGroup
	for i := range results {
		waiter := fmt.Sprintf("%d/%d", os.Getpid(), i)
		wg.Go(func() { results[i], errs[i] = acquireRepeatedly(ctx, j.locker, rdb, key, waiter) })
	}
	wg.Wait()
	return sum(results), errors.Join(errs...)
}

// acquireRepeatedly is one waiter. It stops when ctx ends.
func acquireRepeatedly(ctx context.Context, l locker, rdb *redis.Client, key, waiter string) (waitResult, error) {
	var r waitResult
	for {
		start := time.Now()
		unlock, err := l.wait(ctx, key)
		if ctx.Err() != nil {
			if err == nil {
				_ = unlock()
			}
			return r, nil
		}
		if err != nil {
			return r, err
		}
		r.WaitsUS = append(r.WaitsUS, int(time.Since(start).Microseconds()))
		previous, err := criticalSection(context.WithoutCancel(ctx), rdb, key, waiter)
		if err := errors.Join(err, release(ctx, unlock)); err != nil {
			return r, err
		}
		r.Acquired++
		if previous != waiter {
			r.HandOvers++
		}
	}
}

// release unlocks. It ignores an error if ctx has ended meanwhile.
func release(ctx context.Context, unlock func() error) error {
	if err := unlock(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// criticalSection is the work that the lock protects, two round trips. It
// returns the waiter that held the lock before, and an error if another one
// holds it now.
func criticalSection(ctx context.Context, rdb *redis.Client, key, waiter string) (previous string, err error) {
	var inside *redis.IntCmd
	var last *redis.StringCmd
	if _, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		inside = p.Incr(ctx, key+":inside")
		last = p.GetSet(ctx, key+":last", waiter)
		return nil
	}); err != nil && !errors.Is(err, redis.Nil) {
		return "", err
	}
	if n := inside.Val(); n != 1 {
		return "", fmt.Errorf("%d holders at once", n)
	}
	return last.Val(), rdb.Decr(ctx, key+":inside").Err()
}
