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

// A waitResult sums up the waiters of one process.
type waitResult struct {
	Acquired  int   `json:"acquired"`
	HandOvers int   `json:"hand_overs"` // acquired by another waiter than the previous time
	WaitsUS   []int `json:"waits_us,omitempty"`
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
func contend(ctx context.Context, args []string) (any, error) {
	l, err := open(args[0])
	if err != nil {
		return nil, err
	}
	n, d, err := parseArgs(args[1:])
	if err != nil {
		return nil, err
	}
	processes := n[0]
	before, err := serverCalls(ctx, l.calls)
	if err != nil {
		return nil, err
	}
	start := time.Now().Add(500 * time.Millisecond).UnixMilli() // all processes are up by then; also part of the key
	results, err := spawn(ctx, processes, []string{"wait", args[0], strconv.FormatInt(start, 10), args[2], d.String()})
	if err != nil {
		return nil, err
	}
	after, err := serverCalls(ctx, l.calls)
	if err != nil {
		return nil, err
	}
	return summarize(results, d, after-before), nil
}

func summarize(results []waitResult, d time.Duration, calls int) contention {
	sum := contention{Seconds: d.Seconds(), Calls: calls}
	for _, w := range results {
		sum.Acquired += w.Acquired
		sum.HandOvers += w.HandOvers
		sum.WaitsUS = append(sum.WaitsUS, w.WaitsUS...)
	}
	sum.P99MS = float64(stats.Quantile(sum.WaitsUS, 0.99)) / 1000
	sum.MaxMS = float64(stats.Quantile(sum.WaitsUS, 1)) / 1000
	sum.WaitsUS = nil
	return sum
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
func wait(ctx context.Context, args []string) (any, error) {
	l, err := open(args[0])
	if err != nil {
		return nil, err
	}
	n, d, err := parseArgs(args[1:])
	if err != nil {
		return nil, err
	}
	rdb, err := goRedis(os.Getenv("REDIS_URL"))
	if err != nil {
		return nil, err
	}
	start, key := time.UnixMilli(int64(n[0])), "contended:"+args[1]
	ctx, cancel := context.WithDeadline(ctx, start.Add(d))
	defer cancel()
	results, errs := make([]waitResult, n[1]), make([]error, n[1])
	time.Sleep(time.Until(start))
	var wg sync.WaitGroup
	for i := range results {
		waiter := fmt.Sprintf("%d/%d", os.Getpid(), i)
		wg.Go(func() { results[i], errs[i] = acquireRepeatedly(ctx, l, rdb, key, waiter) })
	}
	wg.Wait()
	sum := waitResult{WaitsUS: []int{}}
	for _, w := range results {
		sum.Acquired += w.Acquired
		sum.HandOvers += w.HandOvers
		sum.WaitsUS = append(sum.WaitsUS, w.WaitsUS...)
	}
	return sum, errors.Join(errs...)
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
