package idgen

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
)

// An id that Parse accepts is the one that its fields make.
func FuzzParse(f *testing.F) {
	for _, id := range []int64{0, 1, -1, 1 << 32, 7 << 32, 120347448945147905, 1<<63 - 1, -1 << 63} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id int64) {
		parts, err := Parse(id)
		if err != nil {
			if !errors.Is(err, ErrInvalid) || id > 0 && id&maxSequence != 0 {
				t.Errorf("%d: %v", id, err)
			}
			return
		}
		second := int64(parts.Time.Sub(Epoch) / time.Second)
		if second<<sequenceBits|parts.Sequence != id || parts.Sequence < 1 || parts.Sequence > maxSequence ||
			parts.Time.Before(Epoch) {
			t.Errorf("%d: %+v", id, parts)
		}
	})
}

// Whatever the server replies, Next does not panic or wait without end, and
// returns an id or an error.
func FuzzReply(f *testing.F) {
	for _, reply := range []string{
		"*2\r\n:1\r\n:1800000000\r\n", "*2\r\n:0\r\n:1800000000\r\n", "*2\r\n:-1\r\n:1\r\n",
		"*2\r\n:4294967296\r\n:1800000000\r\n", "*2\r\n:9223372036854775807\r\n:1800000000\r\n",
		"*2\r\n:1\r\n:9223372036854775807\r\n", "*0\r\n", "*1\r\n:1\r\n", "*-1\r\n", ":1\r\n",
		"*3\r\n:1\r\n:1800000000\r\n:1\r\n", "*2\r\n+1\r\n+1800000000\r\n", "-ERR no\r\n", "",
	} {
		f.Add([]byte(reply))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		w := New(labtest.Replying(t, reply), "order")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		id, err := w.Next(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Next does not end after %q", reply)
		}
		if _, invalid := Parse(id); err == nil && invalid != nil {
			t.Errorf("%q gives the id %d: %v", reply, id, invalid)
		}
	})
}

// Whatever the counter of the day holds, the next ids are valid, unique, and
// larger than those that the counter has seen.
func FuzzStoredCounter(f *testing.F) {
	for _, n := range []string{"", "0", "1", "41", "-5", "1.5", "nan", "inf", "-inf", "1e300", "4294967294",
		"4294967295", "4294967296", "9007199254740993", "0x10", "abc", " 7"} {
		f.Add(n, "0")
		f.Add("7", n)
		f.Add(n, n)
	}
	rdb := labtest.Dial(f, labtest.Redis(f))
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, n, second string) {
		check.NoError(t, rdb.FlushAll(ctx).Err())
		key := "order:" + time.Now().UTC().Format("2006:01:02")
		check.NoError(t, rdb.HSet(ctx, key, "n", n, "s", second).Err())
		w := New(rdb, "order")
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		last := int64(0)
		for range 3 {
			id, err := w.Next(limited)
			if errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Next does not end with n %q, s %q", n, second)
			}
			if err != nil {
				if got := rdb.HGet(ctx, key, "n").Val(); got != n && last == 0 {
					t.Errorf("%v, and n %q has become %q", err, n, got)
				}
				return
			}
			parts, err := Parse(id)
			if err != nil || id <= last || time.Until(parts.Time) > 24*time.Hour {
				t.Fatalf("id %d (%+v) after %d: %v; n %q, s %q", id, parts, last, err, n, second)
			}
			last = id
		}
	})
}
