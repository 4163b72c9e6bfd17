package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// pairs takes and releases locks that nobody else wants.
func pairs(ctx context.Context, args []string) (any, error) {
	l, err := open(args[0])
	if err != nil {
		return nil, err
	}
	n, d, err := numbers(args[1:])
	if err != nil {
		return nil, err
	}
	goroutines := n[0]
	if _, err := spin(ctx, l, goroutines, d/10+50*time.Millisecond); err != nil { // connections and scripts
		return nil, err
	}
	begun := time.Now()
	done, err := spin(ctx, l, goroutines, d)
	return struct {
		Pairs   int     `json:"pairs"`
		Seconds float64 `json:"seconds"`
	}{done, time.Since(begun).Seconds()}, err
}

// spin lets every goroutine make pairs for d, and counts them.
func spin(ctx context.Context, l locker, goroutines int, d time.Duration) (int, error) {
	counts, errs := make([]int, goroutines), make([]error, goroutines)
	var wg sync.WaitGroup
	until := time.Now().Add(d)
	for i := range goroutines {
		key := fmt.Sprintf("pair:%d", i)
		wg.Go(func() {
			for errs[i] == nil && time.Now().Before(until) {
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
