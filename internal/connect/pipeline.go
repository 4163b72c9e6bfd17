package connect

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// A Pipeline is a client for many goroutines at once: the commands that they
// send by Do, Eval and EvalSha while one round trip is under way go out
// together in the next. Everything else goes the client's ordinary way.
//
// A call ends with its context; what it sent may be done by the server all the
// same, before anything that is sent later. A batch that lost its connection
// is repeated as a whole: send only what may be done twice.
type Pipeline struct {
	redis.UniversalClient
	batches *redis.AutoPipeliner
}

// Pipelined returns the pipeline of rdb, which ends when rdb is closed.
func Pipelined(rdb redis.UniversalClient) (*Pipeline, error) {
	batches, err := rdb.AsyncAutoPipeline()
	if err != nil {
		return nil, fmt.Errorf("Redis pipeline: %w", err)
	}
	return &Pipeline{rdb, batches}, nil
}

// Do sends a command.
func (p *Pipeline) Do(ctx context.Context, args ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, args...)
	err := p.batches.Submit(ctx, cmd).WaitContext(ctx)
	if err != nil && ctx.Err() != nil {
		// The batch may still write its answer into cmd: leave that one alone.
		cmd = redis.NewCmd(ctx, args...)
		cmd.SetErr(context.Cause(ctx))
	}
	return cmd
}

// Eval implements redis.Scripter.
func (p *Pipeline) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return p.eval(ctx, "eval", script, keys, args)
}

// EvalSha implements redis.Scripter.
func (p *Pipeline) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return p.eval(ctx, "evalsha", sha1, keys, args)
}

func (p *Pipeline) eval(ctx context.Context, name, script string, keys []string, args []any) *redis.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, name, script, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	return p.Do(ctx, append(all, args...)...)
}
