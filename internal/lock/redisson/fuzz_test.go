package redisson

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

// The replies that are verdicts, wherever they are in what the server sends.
var (
	oneReply      = regexp.MustCompile(`(?m)^:\+?0*1\r$`)
	zeroReply     = regexp.MustCompile(`(?m)^:[+-]?0+\r$`)
	positiveReply = regexp.MustCompile(`(?m)^:\+?0*[1-9][0-9]*\r$`)
	negativeReply = regexp.MustCompile(`(?m)^:-0*[1-9][0-9]*\r$`)
)

func lockers(c *Client) map[string]locker {
	return map[string]locker{
		"lock": c.Lock().locker, "fair": c.FairLock().locker, "fenced": c.FencedLock().locker,
		"read": c.ReadLock().locker, "write": c.WriteLock().locker, "permit": c.PermitExpirableSemaphore().locker,
	}
}

// Whatever the server replies, nothing panics, and only the reply that the
// script's contract names is a verdict.
func FuzzReply(f *testing.F) {
	for _, reply := range []string{
		":0\r\n", ":1\r\n", ":-1\r\n", ":-9223372036854775808\r\n", ":9223372036854775807\r\n", "*1\r\n:1\r\n",
		"*1\r\n:0\r\n", "*1\r\n:2\r\n", "*2\r\n:1\r\n:1\r\n",
		"$-1\r\n", "_\r\n", "+0\r\n", "$1\r\n0\r\n", "$1\r\n1\r\n", "#t\r\n", "#f\r\n", ",0\r\n", "(0\r\n",
		"-ERR no\r\n", "-NOSCRIPT no\r\n", "%1\r\n+a\r\n:1\r\n", "",
	} {
		f.Add([]byte(reply))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		c, text := New(labtest.Replying(t, reply)), string(reply)
		for name, locker := range lockers(c) {
			acquired := zeroReply
			if name == "fenced" {
				acquired = positiveReply
			}
			_, err := locker.TryLock(t.Context(), "key", time.Minute)
			locktest.WantVerdict(t, name+" acquire", text, err, lock.ErrLocked, acquired, negativeReply)
			locktest.WantVerdict(t, name+" extend", text, newLease(locker).Extend(t.Context(), time.Minute),
				lock.ErrLost, oneReply, zeroReply)
			locktest.WantVerdict(t, name+" release", text, newLease(locker).Release(t.Context()), lock.ErrLost,
				oneReply, zeroReply)
		}
		locktest.WantVerdict(t, "semaphore", text, c.Semaphore("key").TryAcquire(t.Context(), 1), lock.ErrLocked,
			oneReply, zeroReply)
		if set, err := c.CountDownLatch("key").TrySetCount(t.Context(), 1); err == nil &&
			set != oneReply.Match(reply) {
			t.Errorf("latch: %t after %q", set, text)
		}
	})
}

func newLease(l locker) *lease {
	held := &lease{locker: l, key: "key", owner: l.c.newOwner()}
	held.expiry.Begin(time.Now().Add(time.Minute))
	return held
}

// Whatever the keys hold, the scripts end, and grant no lock whose key is there.
// A read lock shares its key with other readers, and a write lock takes the key
// of readers that have expired.
func FuzzStoredValues(f *testing.F) {
	for kind := range byte(6) {
		for _, value := range []string{"", "0", "1", "-5", "1.5", "nan", "inf", "1e300", "9007199254740992",
			"9223372036854775807", "abc", "read", "write"} {
			f.Add(kind, "mode", value, byte(1), "41")
			f.Add(kind, "owner", value, kind, value)
			f.Add(byte(0), "", "", kind, value)
		}
	}
	rdb := labtest.Dial(f, labtest.Redis(f))
	c := New(rdb)
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, kind byte, field, value string, otherKind byte, other string) {
		for name, locker := range lockers(c) {
			check.NoError(t, rdb.FlushAll(ctx).Err())
			labtest.Store(t, rdb, "key", kind, field, value)
			for _, key := range locker.typ.keys("key", "owner")[1:] {
				labtest.Store(t, rdb, key, otherKind, field, other)
			}
			held := rdb.Exists(ctx, "key").Val() == 1
			tryLock := locker.TryLock
			if name == "permit" { // its ids are no owners: a release that is repeated would name a later permit
				tryLock = c.PermitExpirableSemaphore().TryLock
			}
			l, err := tryLock(ctx, "key", time.Minute)
			switch {
			case errors.Is(err, context.DeadlineExceeded):
				t.Fatalf("%s: %v", name, err)
			case err != nil:
				continue
			case held && (name == "lock" || name == "fair" || name == "fenced"):
				t.Fatalf("%s: locks a key that holds %q (%d)", name, value, kind)
			}
			if name == "fenced" && (l.Fence() == 0 || l.Fence() > 1<<53) {
				t.Errorf("fence %d after %q (%d)", l.Fence(), other, otherKind)
			}
			check.NoError(t, l.Release(ctx))
		}
	})
}
