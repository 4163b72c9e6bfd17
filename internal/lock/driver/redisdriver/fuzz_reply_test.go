package redisdriver_test

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redisson"
)

// The replies that are verdicts, wherever they are in what the server sends.
var (
	zero     = regexp.MustCompile(`(?m)^:[+-]?0+\r$`)
	one      = regexp.MustCompile(`(?m)^:\+?0*1\r$`)
	oneOrTwo = regexp.MustCompile(`(?m)^:\+?0*[12]\r$`)
	positive = regexp.MustCompile(`(?m)^:\+?0*[1-9][0-9]*\r$`)
	negative = regexp.MustCompile(`(?m)^:-0*[1-9][0-9]*\r$`)
	refusing = regexp.MustCompile(`(?m)^:([+-]?0+|-[0-9]+)\r$`)

	// of a batch of one
	batchOne      = regexp.MustCompile(`(?m)^[*~>]\+?0*1\r\n:\+?0*1\r$`)
	batchOneOrTwo = regexp.MustCompile(`(?m)^[*~>]\+?0*1\r\n:\+?0*[12]\r$`)
	batchRefusing = regexp.MustCompile(`(?m)^[*~>]\+?0*1\r\n:([+-]?0+|-[0-9]+)\r$`)
	batchZero     = regexp.MustCompile(`(?m)^[*~>]\+?0*1\r\n:[+-]?0+\r$`)
)

// verdicts are what a driver may take the replies to its scripts for. A grant is one that acquires.
type verdicts struct {
	grant                             string
	acquired, refused, released, gone *regexp.Regexp
}

// verdictsOf are those of each driver that speaks to one server itself.
var verdictsOf = map[string]verdicts{
	"redislock":         {"*1\r\n:1\r\n", batchOne, batchRefusing, batchOneOrTwo, batchZero},
	"redislock, fenced": {":1\r\n", positive, refusing, batchOneOrTwo, batchZero},
	"Lock":              {":0\r\n", zero, negative, oneOrTwo, zero},
	"FencedLock":        {":1\r\n", positive, negative, oneOrTwo, zero},
	"FairLock":          {":0\r\n", zero, negative, oneOrTwo, zero},
	"ReadLock":          {":0\r\n", zero, negative, oneOrTwo, zero},
	"WriteLock":         {":0\r\n", zero, negative, oneOrTwo, zero},
	"permit":            {":0\r\n", zero, negative, oneOrTwo, zero},
}

// opened returns the driver of a name. The permits of a semaphore are not set.
func opened(name string, rdb redis.UniversalClient) lock.Locker {
	if name == "permit" {
		return client(rdb).PermitExpirableSemaphore()
	}
	return lockers[name](rdb)
}

// Whatever the server replies, nothing panics, and only the reply that the
// script's contract names is a verdict.
func FuzzReply(f *testing.F) {
	for _, reply := range []string{
		":0\r\n", ":1\r\n", ":2\r\n", ":-1\r\n", ":-9223372036854775808\r\n", ":9223372036854775807\r\n",
		"*-1\r\n", "*0\r\n", "*1\r\n:1\r\n", "*1\r\n:0\r\n", "*1\r\n:2\r\n", "*1\r\n:3\r\n",
		"*1\r\n:-60000\r\n", "*1\r\n:-9223372036854775808\r\n", "*1\r\n+OOM\r\n", "*1\r\n$1\r\n1\r\n",
		"*1\r\n_\r\n", "*1\r\n-ERR no\r\n", "*1\r\n*1\r\n:1\r\n", "*2\r\n:1\r\n:1\r\n", "~1\r\n:1\r\n",
		">1\r\n:1\r\n", "=5\r\ntxt:1\r\n", "$-1\r\n", "_\r\n", "+0\r\n", "+1\r\n", "$1\r\n0\r\n",
		"$1\r\n1\r\n", "$9\r\n1", "#t\r\n", "#f\r\n", ",0\r\n", ",1\r\n", "(0\r\n", "(1\r\n", "-ERR no\r\n",
		"-NOSCRIPT no\r\n", "-LOADING no\r\n", "%1\r\n+a\r\n:1\r\n", "|1\r\n+a\r\n:1\r\n:1\r\n", "", "\r\n",
	} {
		f.Add([]byte(reply))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		for name, v := range verdictsOf {
			l, err := opened(name, labtest.Replying(t, reply)).TryLock(t.Context(), "key", time.Minute)
			wantVerdict(t, name+" acquire", reply, err, lock.ErrLocked, v.acquired, v.refused)
			if err == nil && (l.Fence() > 1<<63-1 || (l.Fence() > 0) != (v.acquired == positive)) {
				t.Errorf("%s: fence %d after %q", name, l.Fence(), reply)
			}
			err = granted(t, name, v, reply).Extend(t.Context(), time.Minute)
			wantVerdict(t, name+" extend", reply, err, lock.ErrLost, one, zero)
			err = granted(t, name, v, reply).Release(t.Context())
			wantVerdict(t, name+" release", reply, err, lock.ErrLost, v.released, v.gone)
		}
		c := redisson.New(labtest.Replying(t, reply))
		wantVerdict(t, "semaphore", reply, c.Semaphore("key").TryAcquire(t.Context(), 1), lock.ErrLocked, one, zero)
		if set, err := c.CountDownLatch("key").TrySetCount(t.Context(), 1); err == nil && set != one.Match(reply) {
			t.Errorf("latch: %t after %q", set, reply)
		}
	})
}

// granted returns a lease whose further requests get reply.
func granted(t *testing.T, name string, v verdicts, reply []byte) lock.Lease {
	t.Helper()
	l, err := opened(name, labtest.Replying(t, []byte(v.grant), reply)).TryLock(t.Context(), "key", time.Minute)
	if err != nil {
		t.Fatalf("%s: %v after %q", name, err, v.grant)
	}
	return l
}

// wantVerdict checks that success, and the verdict no, each follow a reply that their
// pattern matches.
func wantVerdict(t *testing.T, what string, reply []byte, err, no error, success, failure *regexp.Regexp) {
	t.Helper()
	switch {
	case err == nil && !success.Match(reply):
		t.Errorf("%s succeeds after %q", what, reply)
	case errors.Is(err, no) && !failure.Match(reply):
		t.Errorf("%s: %v after %q", what, err, reply)
	}
}
