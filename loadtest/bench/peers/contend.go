package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A waited is what the waiters of one process have seen.
type waited struct {
	Taken     int   `json:"taken"`
	HandOvers int   `json:"hand_overs"` // taken by another waiter than the last
	WaitsUS   []int `json:"waits_us,omitempty"`
}

// contention is what contend reports.
type contention struct {
	waited
	Seconds float64 `json:"seconds"`
	P99MS   float64 `json:"p99_ms"`
	MaxMS   float64 `json:"max_ms"`
	Calls   int     `json:"calls"`
}

// contend lets real processes of many waiters fight for one lock.
func contend(ctx context.Context, args []string) (any, error) {
	l, err := open(args[0])
	if err != nil {
		return nil, err
	}
	n, d, err := numbers(args[1:])
	if err != nil {
		return nil, err
	}
	processes := n[0]
	before, err := serverCalls(ctx, l.calls)
	if err != nil {
		return nil, err
	}
	start := time.Now().Add(500 * time.Millisecond).UnixMilli() // when all processes are up; it also names the lock
	seen, err := spawn(ctx, processes, []string{"wait", args[0], strconv.FormatInt(start, 10), args[2], d.String()})
	if err != nil {
		return nil, err
	}
	after, err := serverCalls(ctx, l.calls)
	if err != nil {
		return nil, err
	}
	return summed(seen, d, after-before), nil
}

func summed(seen []waited, d time.Duration, calls int) contention {
	sum := contention{Seconds: d.Seconds(), Calls: calls}
	for _, w := range seen {
		sum.Taken += w.Taken
		sum.HandOvers += w.HandOvers
		sum.WaitsUS = append(sum.WaitsUS, w.WaitsUS...)
	}
	slices.Sort(sum.WaitsUS)
	if n := len(sum.WaitsUS); n > 0 {
		sum.P99MS = float64(sum.WaitsUS[n*99/100]) / 1000
		sum.MaxMS = float64(sum.WaitsUS[n-1]) / 1000
	}
	sum.WaitsUS = nil
	return sum
}

// spawn runs this program several times at once.
func spawn(ctx context.Context, processes int, args []string) ([]waited, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	seen, errs := make([]waited, processes), make([]error, processes)
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			cmd := exec.CommandContext(ctx, self, args...)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err == nil {
				err = json.Unmarshal(out, &seen[i])
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return seen, errors.Join(errs...)
}

// wait is one process: its waiters take the lock again and again.
func wait(ctx context.Context, args []string) (any, error) {
	l, err := open(args[0])
	if err != nil {
		return nil, err
	}
	n, d, err := numbers(args[1:])
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
	all, errs := make([]waited, n[1]), make([]error, n[1])
	time.Sleep(time.Until(start))
	var wg sync.WaitGroup
	for i := range all {
		me := fmt.Sprintf("%d/%d", os.Getpid(), i)
		wg.Go(func() { all[i], errs[i] = takeTurns(ctx, l, rdb, key, me) })
	}
	wg.Wait()
	sum := waited{WaitsUS: []int{}}
	for _, w := range all {
		sum.Taken += w.Taken
		sum.HandOvers += w.HandOvers
		sum.WaitsUS = append(sum.WaitsUS, w.WaitsUS...)
	}
	return sum, errors.Join(errs...)
}

// takeTurns is one waiter, until ctx ends.
func takeTurns(ctx context.Context, l locker, rdb *redis.Client, key, me string) (waited, error) {
	var w waited
	for {
		asked := time.Now()
		unlock, err := l.wait(ctx, key)
		if ctx.Err() != nil {
			if err == nil {
				_ = unlock()
			}
			return w, nil
		}
		if err != nil {
			return w, err
		}
		w.WaitsUS = append(w.WaitsUS, int(time.Since(asked).Microseconds()))
		last, err := work(context.WithoutCancel(ctx), rdb, key, me)
		if err := errors.Join(err, release(ctx, unlock)); err != nil {
			return w, err
		}
		w.Taken++
		if last != me {
			w.HandOvers++
		}
	}
}

// release does not mind that the time was up meanwhile.
func release(ctx context.Context, unlock func() error) error {
	if err := unlock(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// work is what the lock protects: two round trips, which tell who was here
// last, and fail if somebody still is.
func work(ctx context.Context, rdb *redis.Client, key, me string) (last string, err error) {
	var inside *redis.IntCmd
	var previous *redis.StringCmd
	if _, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		inside = p.Incr(ctx, key+":inside")
		previous = p.GetSet(ctx, key+":last", me)
		return nil
	}); err != nil && !errors.Is(err, redis.Nil) {
		return "", err
	}
	if n := inside.Val(); n != 1 {
		return "", fmt.Errorf("%d holders at once", n)
	}
	return previous.Val(), rdb.Decr(ctx, key+":inside").Err()
}
