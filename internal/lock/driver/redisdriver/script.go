package redisdriver

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Call calls a script, by its text if the server does not know it yet.
func Call(ctx context.Context, rdb redis.Scripter, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	reply := script.EvalSha(ctx, rdb, keys, args...)
	if !redis.HasErrorPrefix(reply.Err(), "NOSCRIPT") {
		return reply
	}
	uncountAttempt(args)
	return script.Eval(ctx, rdb, keys, args...)
}

// uncountAttempt undoes the count of one attempt, which the server did not run.
// Earlier ones, whose replies were lost, may have run.
func uncountAttempt(args []any) {
	for _, arg := range args {
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

// Add adds n attempts.
func (a *Attempts) Add(n int64) { a.n.Add(n) }

// Count returns the number of attempts.
func (a *Attempts) Count() int64 { return a.n.Load() }
