package locktest

import (
	"context"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
)

// A Server is what RunOutages takes down.
type Server interface {
	Pause()
	Resume()
	Kill()
	Restart() error
}

// RunOutages suspends and kills the server of a driver. Each call of open returns a new
// client. A durable server has its locks after a restart.
func RunOutages(t *testing.T, server Server, durable bool, open func(testing.TB) lock.Locker) {
	t.Run("SuspendedServerLeavesNoKey", func(t *testing.T) { suspend(t, server, open(t), open(t)) })
	t.Run("DeadServerLeavesTheOutcomeUnknown", func(t *testing.T) { kill(t, server, durable, open(t)) })
}

// attempt is the context of a request whose caller soon gives up.
func attempt(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// The server still has the requests whose callers have given up, and runs them when it
// goes on, in whatever order: the driver has to release them again.
func suspend(t *testing.T, server Server, l, healthy lock.Locker) {
	key := newKey()
	held, idle := MustTryLock(t, l, key, longTTL), MustTryLock(t, l, newKey(), longTTL)
	acquisitions := map[string]func(context.Context, string, time.Duration) (lock.Lease, error){"TryLock": l.TryLock}
	if blocking, ok := l.(lock.BlockingLocker); ok {
		acquisitions["Lock"] = blocking.Lock
	}
	server.Pause()
	for name, acquire := range acquisitions {
		_, err := acquire(attempt(t), key+name, longTTL)
		WantUnknown(t, err)
	}
	WantUnknown(t, idle.Extend(attempt(t), longTTL))
	WantUnknown(t, held.Release(attempt(t)))
	server.Resume()
	time.Sleep(100 * time.Millisecond) // until the server has run the requests
	for name := range acquisitions {
		check.NoError(t, eventuallyTryLock(t, healthy, key+name).Release(t.Context()))
	}
	_ = verdict(t, held.Release) // the server may have run the first
	MustTryLock(t, healthy, key, longTTL)
	check.NoError(t, verdictOfExtend(t, idle))
}

func kill(t *testing.T, server Server, durable bool, l lock.Locker) {
	key := newKey()
	lease := MustTryLock(t, l, key, longTTL)
	server.Kill()
	_, err := l.TryLock(attempt(t), newKey(), longTTL)
	WantUnknown(t, err)
	WantUnknown(t, lease.Extend(attempt(t), longTTL))
	check.NoError(t, server.Restart())
	if !durable {
		check.ErrorIs(t, verdictOfExtend(t, lease), lock.ErrLost)
		check.ErrorIs(t, verdict(t, lease.Release), lock.ErrLost)
		if next := MustTryLock(t, l, key, longTTL); lease.Fence() > 0 && next.Fence() <= lease.Fence() {
			t.Errorf("fence %d after the loss of all data, want more than %d", next.Fence(), lease.Fence())
		}
		return
	}
	check.NoError(t, verdictOfExtend(t, lease))
	WantLocked(t, l, key)
	check.NoError(t, lease.Release(t.Context()))
}
