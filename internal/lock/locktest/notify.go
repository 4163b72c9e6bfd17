package locktest

import (
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
)

// MustNotify calls Notify, and stops it when the test ends. It returns when the locker has
// begun to listen.
func MustNotify(tb testing.TB, l lock.Notifier, key string) (wake chan struct{}, stop func()) {
	tb.Helper()
	wake = make(chan struct{}, 1)
	stop = notifyOn(tb, l, key, wake)
	check.Receive(tb, "Notify begins to listen", wake)
	return wake, stop
}

func notifyOn(tb testing.TB, l lock.Notifier, key string, wake chan<- struct{}) (stop func()) {
	tb.Helper()
	stop, err := l.Notify(key, wake)
	check.NoError(tb, err)
	tb.Cleanup(stop)
	return stop
}

// drain receives notifications until there is none for a while.
func drain(wake <-chan struct{}) {
	for {
		select {
		case <-wake:
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}

func (s suite) notifySendsAfterRelease(t *testing.T) {
	key := newKey()
	wake, _ := MustNotify(t, mustBe[lock.Notifier](t, s.open(t)), key)
	l := s.open(t)
	for range 3 {
		lease := MustTryLock(t, l, key, longTTL)
		drain(wake)
		check.NoError(t, lease.Release(t.Context()))
		check.Receive(t, "a notification after Release", wake)
	}
}

// notifyNeverBlocks has one channel that is never received from, and one that
// must still get its notifications.
func (s suite) notifyNeverBlocks(t *testing.T) {
	l, key := mustBe[lock.Notifier](t, s.open(t)), newKey()
	blocked, wake := make(chan struct{}), make(chan struct{}, 1)
	notifyOn(t, l, key, blocked)
	notifyOn(t, l, key, wake)
	drain(wake)
	other := s.open(t)
	for range 3 {
		check.NoError(t, MustTryLock(t, other, key, longTTL).Release(t.Context()))
	}
	check.Receive(t, "a notification beside a channel that is never received from", wake)
}

// notifySendsNothingAfterStop stops one of two notifications, twice.
func (s suite) notifySendsNothingAfterStop(t *testing.T) {
	l, key := mustBe[lock.Notifier](t, s.open(t)), newKey()
	stopped, active := make(chan struct{}, 1), make(chan struct{}, 1)
	stop := notifyOn(t, l, key, stopped)
	notifyOn(t, l, key, active)
	stop()
	stop()
	drain(stopped)
	drain(active)
	check.NoError(t, MustTryLock(t, s.open(t), key, longTTL).Release(t.Context()))
	check.Receive(t, "a notification on the channel that was not stopped", active)
	select {
	case <-stopped:
		t.Error("a notification after stop")
	case <-time.After(50 * time.Millisecond):
	}
}
