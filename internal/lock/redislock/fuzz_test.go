package redislock

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

// The replies that mean success, wherever they are in what the server sends.
var (
	acquiredReply = regexp.MustCompile(`(?m)^[*~>]\+?0*1\r\n:\+?0*1\r$`)
	releasedReply = regexp.MustCompile(`(?m)^[*~>]\+?0*1\r\n:\+?0*[12]\r$`)
	deniedReply   = regexp.MustCompile(`(?m)^[*~>]\+?0*1\r\n:([+-]?0+|-[0-9]+)\r$`)
	goneReply     = regexp.MustCompile(`(?m)^[*~>]\+?0*1\r\n:[+-]?0+\r$`)
	oneReply      = regexp.MustCompile(`(?m)^:\+?0*1\r$`)
	positiveReply = regexp.MustCompile(`(?m)^:\+?0*[1-9][0-9]*\r$`)
	zeroReply     = regexp.MustCompile(`(?m)^:[+-]?0+\r$`)
	refusingReply = regexp.MustCompile(`(?m)^:([+-]?0+|-[0-9]+)\r$`)
)

// Whatever the server replies, nothing panics, and only the reply that the
// script's contract names is a verdict.
func FuzzReply(f *testing.F) {
	for _, reply := range []string{
		"$-1\r\n", "_\r\n", "*-1\r\n", ":1\r\n", ":0\r\n", ":-1\r\n", ":9223372036854775807\r\n", "*1\r\n:1\r\n",
		"*1\r\n:0\r\n", "*1\r\n:2\r\n", "*0\r\n",
		"*1\r\n:-60000\r\n", "*1\r\n:-9223372036854775808\r\n", "*1\r\n+OOM\r\n", "*1\r\n$1\r\n1\r\n", "*1\r\n_\r\n",
		"+1\r\n", "$1\r\n1\r\n", ":2\r\n", "*1\r\n:3\r\n", "*1\r\n-ERR no\r\n", "~1\r\n:1\r\n", ">1\r\n:1\r\n",
		"=5\r\ntxt:1\r\n", "#t\r\n", ",1\r\n", "(1\r\n",
		"-ERR no\r\n", "-NOSCRIPT no\r\n", "-LOADING no\r\n", "*1\r\n*1\r\n:1\r\n", "%1\r\n+a\r\n:1\r\n",
		"*2\r\n:1\r\n:1\r\n", "|1\r\n+a\r\n:1\r\n:1\r\n", "", "\r\n", "$9\r\n1",
	} {
		f.Add([]byte(reply))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		rdb, text := labtest.Replying(t, reply), string(reply)
		for _, c := range []struct {
			name              string
			locker            *Locker
			acquired, refused *regexp.Regexp
			released, gone    *regexp.Regexp
		}{
			{"New", New(rdb), acquiredReply, deniedReply, releasedReply, goneReply},
			{"Fenced", Fenced(rdb), positiveReply, refusingReply, releasedReply, goneReply},
		} {
			l, err := c.locker.TryLock(t.Context(), "key", time.Minute)
			locktest.WantVerdict(t, c.name+" acquire", text, err, lock.ErrLocked, c.acquired, c.refused)
			if err == nil && (l.Fence() > 1<<63-1 || (l.Fence() > 0) != (c.name == "Fenced")) {
				t.Errorf("%s: fence %d after %q", c.name, l.Fence(), text)
			}
			locktest.WantVerdict(t, c.name+" extend", text, newLease(c.locker).Extend(t.Context(), time.Minute),
				lock.ErrLost, oneReply, zeroReply)
			locktest.WantVerdict(t, c.name+" release", text, newLease(c.locker).Release(t.Context()), lock.ErrLost,
				c.released, c.gone)
		}
	})
}

func newLease(l *Locker) *lease {
	held := &lease{locker: l, key: "key", token: "token"}
	held.expiry.Begin(time.Now().Add(time.Minute))
	return held
}

// Whatever the keys hold, the scripts grant no lock that is held, and no fence
// that is not larger than the last.
func FuzzStoredValues(f *testing.F) {
	for _, kind := range []byte{0, 1, 2, 3, 4, 5} {
		for _, value := range []string{"", "0", "41", "-5", "1.5", "nan", "inf", "-inf", "1e300", "0x10",
			"9007199254740992", "9223372036854775807", "99999999999999999999", "abc", " 7"} {
			f.Add(byte(0), "", kind, value)
			f.Add(kind, value, byte(1), "41")
		}
	}
	rdb := labtest.Dial(f, labtest.Redis(f))
	f.Fuzz(func(t *testing.T, lockKind byte, lockValue string, fenceKind byte, fenceValue string) {
		for name, locker := range map[string]*Locker{"New": New(rdb), "Fenced": Fenced(rdb)} {
			check.NoError(t, rdb.FlushAll(context.Background()).Err())
			labtest.Store(t, rdb, "key", lockKind, "field", lockValue)
			labtest.Store(t, rdb, FenceKey("key"), fenceKind, "field", fenceValue)
			held := rdb.Exists(context.Background(), "key").Val() == 1
			l, err := locker.TryLock(context.Background(), "key", time.Minute)
			switch {
			case held && err == nil:
				t.Fatalf("%s locks a key that holds %q (%d)", name, lockValue, lockKind)
			case !held && errors.Is(err, lock.ErrLocked):
				t.Fatalf("%s: a free key is locked", name)
			case err != nil:
				if got := rdb.Get(context.Background(), FenceKey("key")).Val(); fenceKind%6 == 1 && got != fenceValue {
					t.Errorf("%s: %v, and the fence %q has become %q", name, err, fenceValue, got)
				}
				continue
			}
			last, _ := rdb.Get(context.Background(), FenceKey("key")).Uint64()
			if name == "Fenced" && (l.Fence() == 0 || l.Fence() > 1<<53 || l.Fence() != last) {
				t.Errorf("fence %d (stored: %d) after %q (%d)", l.Fence(), last, fenceValue, fenceKind)
			}
			check.NoError(t, l.Extend(context.Background(), time.Minute))
			check.NoError(t, l.Release(context.Background()))
		}
	})
}
