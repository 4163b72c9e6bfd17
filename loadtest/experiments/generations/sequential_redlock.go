package generations

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// sequentialRedlock is a RedLock that sends its requests to one node after the
// other and waits for each as long as the client's timeouts allow. Its holder
// counts the whole ttl from the last reply.
type sequentialRedlock struct {
	nodes []redis.UniversalClient
	key   string
	value string
}

func (l *sequentialRedlock) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
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

func (l *sequentialRedlock) Unlock(ctx context.Context) error {
	var errs []error
	for _, node := range l.nodes {
		errs = append(errs, node.Eval(ctx, compareAndDelete, []string{l.key}, l.value).Err())
	}
	return errors.Join(errs...)
}
