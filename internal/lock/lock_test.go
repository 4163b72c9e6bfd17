package lock_test

import (
	"testing"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

func TestLocalKeepsTheContract(t *testing.T) {
	t.Parallel()
	l := lock.Local()
	locktest.Run(t, locktest.Promises{Exclusive: true, Expires: true, Fences: true, Notifies: true, Tells: true,
		Tick: time.Millisecond},
		func(testing.TB) lock.Locker { return l })
}

func TestNoneExcludesNobody(t *testing.T) {
	t.Parallel()
	locktest.Run(t, locktest.Promises{}, func(testing.TB) lock.Locker { return lock.None() })
}
