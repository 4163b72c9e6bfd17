package redislock_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redislock"
)

func TestKeyOfAnotherTypeFailsOnlyItsOwnRequest(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	check.NoError(t, rdb.HSet(t.Context(), "k7", "a", "b").Err())
	l := redislock.New(rdb)
	check.AtOnce(50, func(i int) {
		lease, err := l.TryLock(t.Context(), fmt.Sprint("k", i), time.Minute)
		if i == 7 {
			locktest.WantUnknown(t, err)
			return
		}
		if err != nil {
			t.Error(err)
		} else if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if kept := rdb.HGet(t.Context(), "k7", "a").Val(); kept != "b" {
		t.Errorf("the field of the hash is %q, want it unchanged", kept)
	}
}

// The reply NOSCRIPT means that the first attempt did nothing. If the second one
// finds no lease, the lease was lost, and not released by the first.
func TestReplyNoscriptDoesNotCountAsAnAttempt(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	l := redislock.New(rdb)
	lease := locktest.MustTryLock(t, l, "k", time.Minute)
	check.NoError(t, errors.Join(rdb.ScriptFlush(t.Context()).Err(), rdb.Del(t.Context(), "k").Err()))
	check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
	again := locktest.MustTryLock(t, l, "k", time.Minute)
	check.NoError(t, errors.Join(rdb.ScriptFlush(t.Context()).Err(), again.Release(t.Context())))
}

// The locks of a batch end at different times, and some requests are granted.
func TestBatchTellsEachRequestTheTimeLeftOfItsOwnKey(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	holder, l := redislock.New(rdb), redislock.New(rdb)
	const keys = 200
	for i := range keys {
		if i%3 == 0 {
			continue
		}
		locktest.MustTryLock(t, holder, fmt.Sprint("k", i), time.Duration(i)*time.Hour)
	}
	check.AtOnce(keys, func(i int) {
		_, err := l.TryLock(t.Context(), fmt.Sprint("k", i), time.Minute)
		locked, told := errors.AsType[*lock.LockedError](err)
		switch {
		case i%3 == 0 && err != nil:
			t.Errorf("TryLock of the free key %d: %v", i, err)
		case i%3 != 0 && (!told || locked.Left.Round(time.Hour) != time.Duration(i)*time.Hour):
			t.Errorf("TryLock of key %d: %#v, want %d hours left", i, err, i)
		}
	})
}
