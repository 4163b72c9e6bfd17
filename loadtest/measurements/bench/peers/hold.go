package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// leaseTTL is the TTL of locks that are renewed while they are held.
var leaseTTL = ttl

// hold acquires many locks and counts the calls to Redis while the library
// renews them every third of the TTL.
func hold(ctx context.Context, j job) (any, error) {
	unlocks, err := acquireMany(ctx, j.locker, j.numbers[0])
	if err != nil {
		return nil, err
	}
	time.Sleep(leaseTTL / 3) // the first renewals
	before, err := serverCalls(ctx, j.calls)
	if err != nil {
		return nil, err
	}
	time.Sleep(j.duration)
	after, err := serverCalls(ctx, j.calls)
	for _, unlock := range unlocks {
		err = errors.Join(err, unlock()) // returns an error if the lock was lost
	}
	return struct {
		CallsPerThird float64 `json:"calls_per_third"`
	}{float64(after-before) / (j.duration.Seconds() / (leaseTTL / 3).Seconds())}, err
}

func acquireMany(ctx context.Context, l locker, n int) ([]func() error, error) {
	const concurrency = 64
	unlocks, errs := make([]func() error, n), make([]error, n)
	var wg sync.WaitGroup
	slots := make(chan struct{}, concurrency)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			unlocks[i], errs[i] = l.wait(ctx, fmt.Sprintf("held:%d", i))
			<-slots
		})
	}
	wg.Wait()
	return unlocks, errors.Join(errs...)
}

// serverCalls returns how often the server has run these commands.
func serverCalls(ctx context.Context, commands []string) (int, error) {
	rdb, err := goRedis(os.Getenv("REDIS_URL"))
	if err != nil {
		return 0, err
	}
	defer rdb.Close()
	return calls(ctx, rdb, commands)
}

func calls(ctx context.Context, rdb *redis.Client, commands []string) (int, error) {
	stats, err := rdb.InfoMap(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	total := 0
	for _, command := range commands {
		line, ok := stats["Commandstats"]["cmdstat_"+command]
		if !ok {
			continue // the server has not run it
		}
		var n int
		if _, err := fmt.Sscanf(line, "calls=%d,", &n); err != nil {
			return 0, fmt.Errorf("%q: %w", line, err)
		}
		total += n
	}
	return total, nil
}
