package redislock

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/internal/lock/driver/redisdriver"
)

// A batchCall is the requests of one script, and its reply: one character for
// each request, for each 0 among them the time that the lock has left, and for each
// e its error. Or err. Or alone, a call for each request, if the
// server has refused them together.
type batchCall struct {
	requests []request
	attempts redisdriver.Attempts
	results  string
	left     []time.Duration
	errors   []string
	err      error
	alone    []*batchCall
}

// script returns the call of the batch script.
func (c *batchCall) script(publish string) *redisdriver.ScriptCall {
	s := &redisdriver.ScriptCall{Keys: make([]string, 0, len(c.requests)), Args: make([]any, 0, 2+2*len(c.requests))}
	s.Args = append(s.Args, publish, &c.attempts)
	for _, r := range c.requests {
		s.Keys, s.Args = append(s.Keys, r.key), append(s.Args, r.token, r.ttl)
	}
	return s
}

// parse takes the reply of the script apart.
func (c *batchCall) parse(reply string) error {
	n := min(len(c.requests), len(reply))
	c.results = reply[:n]
	refusals, failures := strings.Count(c.results, "0"), strings.Count(c.results, "e")
	if refusals+failures == 0 && len(reply) == len(c.requests) {
		return nil
	}
	lines := strings.Split(reply[n:], "\n")
	c.errors = lines[1:]
	left := strings.Split(lines[0], " ")
	if n < len(c.requests) || len(left) != refusals+1 || left[0] != "" || len(c.errors) != failures {
		return fmt.Errorf("unexpected reply %.40q to %d requests", reply, len(c.requests))
	}
	for _, text := range left[1:] {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("unexpected reply %.40q to %d requests", reply, len(c.requests))
		}
		c.left = append(c.left, redisdriver.TimeLeft(ms))
	}
	return nil
}

// result returns the result of one request.
func (c *batchCall) result(index int) (bool, error) {
	if c.err != nil {
		return false, c.err
	}
	switch result := c.results[index]; result {
	case '0', '1':
		return result == '1', nil
	case '2':
		if c.requests[index].ttl == 0 {
			return true, nil
		}
	case 'e':
		return false, redisdriver.Error(c.errors[strings.Count(c.results[:index], "e")])
	}
	return false, fmt.Errorf("unexpected result %.40q", c.results)
}

// timeLeft returns how long the lock of a refused request has left.
func (c *batchCall) timeLeft(index int) time.Duration {
	return c.left[strings.Count(c.results[:index], "0")]
}
