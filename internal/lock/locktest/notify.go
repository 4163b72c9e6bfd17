package locktest

import (
	"testing"
	"time"

	"example.com/flashsale/internal/lock"
)

func (s suite) openNotifier(t *testing.T) lock.Notifier {
	t.Helper()
	l, ok := s.open(t).(lock.Notifier)
	if !ok {
		t.Skip("the driver is no lock.Notifier")
	}
	return l
}

// mustNotify calls Notify and stops it at the end of the test.
func mustNotify(t *testing.T, l lock.Notifier, key string, wake chan<- struct{}) (stop func()) {
	t.Helper()
	stop, err := l.Notify(key, wake)
	noError(t, "Notify", err)
	t.Cleanup(stop)
	return stop
}

func mustReceive(t *testing.T, wake <-chan struct{}, when string) {
	t.Helper()
	select {
	case <-wake:
	case <-time.After(timeout):
		t.Fatalf("no notification %s", when)
	}
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

func (s suite) notifySendsWhenItBeginsToListen(t *testing.T) {
	t.Parallel()
	wake := make(chan struct{}, 1)
	mustNotify(t, s.openNotifier(t), newKey(), wake)
	mustReceive(t, wake, "when Notify began to listen")
}

func (s suite) notifySendsAfterRelease(t *testing.T) {
	t.Parallel()
	key, wake := newKey(), make(chan struct{}, 1)
	mustNotify(t, s.openNotifier(t), key, wake)
	l := s.open(t)
	for range 3 {
		lease := mustTryLock(t, l, key, longTTL)
		drain(wake)
		noError(t, "Release", lease.Release(t.Context()))
		mustReceive(t, wake, "after Release")
	}
}

// notifyNeverBlocks has one channel that is never received from, and one that
// must still get its notifications.
func (s suite) notifyNeverBlocks(t *testing.T) {
	t.Parallel()
	l, key := s.openNotifier(t), newKey()
	blocked, wake := make(chan struct{}), make(chan struct{}, 1)
	mustNotify(t, l, key, blocked)
	mustNotify(t, l, key, wake)
	drain(wake)
	other := s.open(t)
	for range 3 {
		noError(t, "Release", mustTryLock(t, other, key, longTTL).Release(t.Context()))
	}
	mustReceive(t, wake, "beside a channel that is never received from")
}

// notifySendsNothingAfterStop stops one of two notifications, twice.
func (s suite) notifySendsNothingAfterStop(t *testing.T) {
	t.Parallel()
	l, key := s.openNotifier(t), newKey()
	stopped, active := make(chan struct{}, 1), make(chan struct{}, 1)
	stop := mustNotify(t, l, key, stopped)
	mustNotify(t, l, key, active)
	stop()
	stop()
	drain(stopped)
	drain(active)
	noError(t, "Release", mustTryLock(t, s.open(t), key, longTTL).Release(t.Context()))
	mustReceive(t, active, "on the channel that was not stopped")
	select {
	case <-stopped:
		t.Error("a notification after stop")
	case <-time.After(50 * time.Millisecond):
	}
}
