package redisdriver

import (
	"fmt"

	"github.com/redis/go-redis/v9"
)

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
	if err != nil {
		return false, err
	}
	return flag(n)
}

// flags returns the flags that a script has returned in an array.
func flags(reply *redis.Cmd, want int) ([]bool, error) {
	values, err := reply.Slice()
	if err != nil {
		return nil, err
	}
	if len(values) != want {
		return nil, fmt.Errorf("%d results for %d leases", len(values), want)
	}
	all := make([]bool, want)
	for i, value := range values {
		if all[i], err = flag(value); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func flag(value any) (bool, error) {
	if n, ok := value.(int64); ok && (n == 0 || n == 1) {
		return n == 1, nil
	}
	return false, fmt.Errorf("unexpected reply %.40q", fmt.Sprint(value))
}
