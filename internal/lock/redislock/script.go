package redislock

import (
	"context"
	_ "embed"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock/driver/redisdriver"
)

var (
	//go:embed batch.lua
	batchLua    string
	batchScript = redis.NewScript(batchLua)
)

// A request acquires or releases a lock.
type request struct {
	key, token string
	ttl        int64 // in milliseconds; 0 releases
}

// A reply is what batch.lua returns for one request.
type reply struct {
	value    int64
	err      error
	attempts int64 // how often the request was sent
}

// The values that say that a request was done.
const (
	done       = 1
	unnotified = 2 // and this user may not notify the waiters
)

func (r reply) unexpected() error { return fmt.Errorf("unexpected reply %d", r.value) }

// run runs requests in one script, or each by itself if the server refuses them together.
func (b *batcher) run(ctx context.Context, requests []request) []reply {
	replies, err := b.call(ctx, requests)
	if len(requests) > 1 && redisdriver.Divisible(err) {
		var alone sync.WaitGroup
		for i := range requests {
			alone.Go(func() {
				one, _ := b.call(ctx, requests[i:i+1])
				replies[i] = one[0]
			})
		}
		alone.Wait()
	}
	return replies
}

// call runs requests in one script. Its error is also that of each request.
func (b *batcher) call(ctx context.Context, requests []request) ([]reply, error) {
	var attempts redisdriver.Attempts
	keys, args := make([]string, 0, len(requests)), append(make([]any, 0, 2+2*len(requests)), b.publish, &attempts)
	for _, r := range requests {
		keys, args = append(keys, r.key), append(args, r.token, r.ttl)
	}
	values, err := redisdriver.Call(ctx, b.rdb, batchScript, keys, args...).Slice()
	if err == nil && len(values) != len(requests) {
		err = fmt.Errorf("%d replies to %d requests", len(values), len(requests))
	}
	replies := make([]reply, len(requests))
	for i := range replies {
		replies[i] = reply{err: err, attempts: attempts.Count()}
		if err == nil {
			replies[i].value, replies[i].err = result(values[i])
		}
	}
	return replies, err
}

// result returns one element of the script's reply.
func result(value any) (int64, error) {
	switch v := value.(type) {
	case int64:
		return v, nil
	case string:
		return 0, redisdriver.Error(v)
	}
	return 0, fmt.Errorf("unexpected reply %.40q", fmt.Sprint(value))
}
