package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// sequence is the RedLock that asks one node after the other, each for as long
// as its client takes, and then calls the lock good for the whole ttl.
type sequence struct {
	nodes []redis.UniversalClient
	key   string
	value string
}

func (l *sequence) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	granted, start := 0, time.Now()
	for _, node := range l.nodes {
		if ok, _ := setNX(ctx, node, l.key, l.value, ttl); ok {
			granted++
		}
	}
	if granted >= len(l.nodes)/2+1 && time.Since(start) < ttl {
		return true, nil
	}
	return false, l.Unlock(ctx)
}

func (l *sequence) Unlock(ctx context.Context) error {
	var errs []error
	for _, node := range l.nodes {
		errs = append(errs, node.Eval(ctx, compareAndDelete, []string{l.key}, l.value).Err())
	}
	return errors.Join(errs...)
}
