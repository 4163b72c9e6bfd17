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
	s := outageSuite{server, durable, open}
	t.Run("SuspendedServerLeavesNoKey", s.suspendedServerLeavesNoKey)
	t.Run("DeadServerLeavesTheOutcomeUnknown", s.deadServerLeavesTheOutcomeUnknown)
}

type outageSuite struct {
	server  Server
	durable bool
	open    func(testing.TB) lock.Locker
}

// attempt is the context of a request whose caller soon gives up.
func attempt(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// The server still has the requests whose callers have given up, and runs them when it
// goes on, in whatever order: the driver has to release them again.
func (s outageSuite) suspendedServerLeavesNoKey(t *testing.T) {
	l, healthy, key := s.open(t), s.open(t), newKey()
	held, idle := MustTryLock(t, l, key, longTTL), MustTryLock(t, l, newKey(), longTTL)
	acquisitions := map[string]func(context.Context, string, time.Duration) (lock.Lease, error){"TryLock": l.TryLock}
	if blocking, ok := l.(lock.BlockingLocker); ok {
		acquisitions["Lock"] = blocking.Lock
	}
	s.server.Pause()
	for name, acquire := range acquisitions {
		_, err := acquire(attempt(t), key+name, longTTL)
		WantUnknown(t, err)
	}
	WantUnknown(t, idle.Extend(attempt(t), longTTL))
	WantUnknown(t, held.Release(attempt(t)))
	s.server.Resume()
	time.Sleep(100 * time.Millisecond) // until the server has run the requests
	for name := range acquisitions {
		check.NoError(t, eventuallyTryLock(t, healthy, key+name).Release(t.Context()))
	}
	_ = verdict(t, held.Release) // the server may have run the first
	MustTryLock(t, healthy, key, longTTL)
	check.NoError(t, verdictOfExtend(t, idle))
}

func (s outageSuite) deadServerLeavesTheOutcomeUnknown(t *testing.T) {
	l, key := s.open(t), newKey()
	lease := MustTryLock(t, l, key, longTTL)
	s.server.Kill()
	_, err := l.TryLock(attempt(t), newKey(), longTTL)
	WantUnknown(t, err)
	WantUnknown(t, lease.Extend(attempt(t), longTTL))
	check.NoError(t, s.server.Restart())
	if !s.durable {
		check.ErrorIs(t, verdictOfExtend(t, lease), lock.ErrLost)
		check.ErrorIs(t, verdict(t, lease.Release), lock.ErrLost)
		MustTryLock(t, l, key, longTTL)
		return
	}
	check.NoError(t, verdictOfExtend(t, lease))
	WantLocked(t, l, key)
	check.NoError(t, lease.Release(t.Context()))
}
