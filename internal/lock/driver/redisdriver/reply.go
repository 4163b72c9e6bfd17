package redisdriver

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
)

// Discarded returns nil if err, the error of a script that removes a lock, shows
// that there is none to remove: the key has another type, or the client is
// closed and cannot know. Otherwise it returns err.
func Discarded(err error) error {
	if errors.Is(err, redis.ErrClosed) || redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil
	}
	return err
}

// Error is an error reply of the server that a script has returned as text.
type Error string

// Error implements error.
func (e Error) Error() string { return string(e) }

// RedisError implements redis.Error.
func (Error) RedisError() {}

// Divisible reports whether the server has refused a call, and done nothing, for what
// need not be true of a call with fewer keys: they are not in one slot, or that slot is
// being moved, or this user may not use one of them.
func Divisible(err error) bool {
	return redis.HasErrorPrefix(err, "TRYAGAIN") || redis.HasErrorPrefix(err, "CROSSSLOT") ||
		redis.HasErrorPrefix(err, "NOPERM")
}

// TimeLeft returns the milliseconds that a script has returned. Another client's key may
// have more of them left than fit in a time.Duration.
func TimeLeft(ms int64) time.Duration {
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// Integer returns the integer that a script has returned. A reply of another
// type is an error: go-redis would convert it, and so turn a reply that is not
// the script's into a verdict.
func Integer(reply *redis.Cmd) (int64, error) {
	value, err := reply.Result()
	if err != nil {
		return 0, err
	}
	n, ok := value.(int64)
	if !ok {
		return 0, fmt.Errorf("unexpected reply %.40q", fmt.Sprint(value))
	}
	return n, nil
}

// Flag returns the flag that a script has returned: 1 or 0. Any other reply is
// an error.
func Flag(reply *redis.Cmd) (bool, error) {
	n, err := Integer(reply)
	if err == nil && n != 0 && n != 1 {
		err = fmt.Errorf("unexpected reply %d", n)
	}
	return n == 1, err
}

// Released returns whether a script has released a lock, and whether it could not
// notify the waiters: its reply is 1, 2 (released without a message) or 0.
func Released(reply *redis.Cmd) (released, unnotified bool, err error) {
	n, err := Integer(reply)
	if err == nil && (n < 0 || n > 2) {
		err = fmt.Errorf("unexpected reply %d", n)
	}
	return n > 0, n == 2, err
}
