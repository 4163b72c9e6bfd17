package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// pairs acquires and releases locks without contention.
func pairs(ctx context.Context, j job) (any, error) {
	// opens connections, loads scripts
	if _, err := repeatPairs(ctx, j.locker, j.numbers[0], j.duration/10+50*time.Millisecond); err != nil {
		return nil, err
	}
	start := time.Now()
	count, err := repeatPairs(ctx, j.locker, j.numbers[0], j.duration)
	return struct {
		Pairs   int     `json:"pairs"`
		Seconds float64 `json:"seconds"`
	}{count, time.Since(start).Seconds()}, err
}

// repeatPairs has each goroutine acquire and release for d. It returns the number
// of pairs.
func repeatPairs(ctx context.Context, l locker, goroutines int, d time.Duration) (int, error) {
	counts, errs := make([]int, goroutines), make([]error, goroutines)
	var wg sync.WaitGroup
	deadline := time.Now().Add(d)
	for i := range goroutines {
		key := fmt.Sprintf("pair:%d", i)
		wg.Go(func() {
			for errs[i] == nil && time.Now().Before(deadline) {
				unlock, err := l.try(ctx, key)
				if err == nil {
					err = unlock()
				}
				errs[i] = err
				counts[i]++
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	return total, errors.Join(errs...)
}
