package redisdriver

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// A ScriptCall is one call of a script and its reply.
type ScriptCall struct {
	Keys  []string
	Args  []any
	Reply *redis.Cmd
}

// Call calls script once for each of calls, in one round trip (in a cluster, in
// one to each node). Each call has an error of its own in its Reply.
func Call(ctx context.Context, rdb redis.UniversalClient, script *redis.Script, calls ...*ScriptCall) {
	send(ctx, rdb, calls, func(s redis.Scripter, c *ScriptCall) *redis.Cmd {
		return s.EvalSha(ctx, script.Hash(), c.Keys, c.Args...)
	})
	var unknown []*ScriptCall
	for _, c := range calls {
		if redis.HasErrorPrefix(c.Reply.Err(), "NOSCRIPT") {
			c.uncountAttempt()
			unknown = append(unknown, c)
		}
	}
	send(ctx, rdb, unknown, func(s redis.Scripter, c *ScriptCall) *redis.Cmd {
		return script.Eval(ctx, s, c.Keys, c.Args...)
	})
}

// send sends one call as a command and more in a pipeline, for which go-redis
// has other connections.
func send(ctx context.Context, rdb redis.UniversalClient, calls []*ScriptCall,
	call func(redis.Scripter, *ScriptCall) *redis.Cmd) {
	switch len(calls) {
	case 0:
	case 1:
		calls[0].Reply = call(rdb, calls[0])
	default:
		_, _ = rdb.Pipelined(ctx, func(p redis.Pipeliner) error { // each reply has its own error
			for _, c := range calls {
				c.Reply = call(p, c)
			}
			return nil
		})
	}
}

// uncountAttempt undoes the count of one attempt, which the server did not run.
// Earlier ones, whose replies were lost, may have run.
func (c *ScriptCall) uncountAttempt() {
	for _, arg := range c.Args {
		if a, ok := arg.(interface{ Add(n int64) }); ok {
			a.Add(-1)
		}
	}
}

// Attempts is a script argument that counts how often it has been sent. go-redis
// repeats a command whose reply was lost, and does not report that.
type Attempts struct{ n atomic.Int64 }

// MarshalBinary implements encoding.BinaryMarshaler. The client calls it for
// every write of the command.
func (a *Attempts) MarshalBinary() ([]byte, error) {
	return strconv.AppendInt(nil, a.n.Add(1), 10), nil
}

// A CountedString is an argument that counts how often it has been sent.
type CountedString struct {
	Text string
	Attempts
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (s *CountedString) MarshalBinary() ([]byte, error) {
	s.Add(1)
	return []byte(s.Text), nil
}

// Add adds n attempts that were counted elsewhere.
func (a *Attempts) Add(n int64) { a.n.Add(n) }

// Count returns the number of attempts.
func (a *Attempts) Count() int64 { return a.n.Load() }
