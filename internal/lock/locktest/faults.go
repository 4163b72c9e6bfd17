package locktest

import (
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lock"
)

// RunFaults injects network faults into every operation of a driver. Whatever
// is lost, the driver must return neither ErrLocked nor ErrLost for it, and no
// key may stay locked for longer than its lease.
//
// The service is at address: host:port, or the path or URL of a Unix socket. open returns a client that connects
// to hostport instead, and that times out on a hanging connection within about
// a second. retries promises that the client repeats a request that failed, so
// that one fault causes no error.
func RunFaults(
	t *testing.T, p Promises, retries bool, address string, open func(tb testing.TB, hostport string) lock.Locker,
) {
	s := faultSuite{promises: p, retries: retries, address: address, open: open}
	for name, fault := range faultproxy.Faults {
		s.onceAndAlways(t, name, fault)
	}
	t.Run("SlowConnectionCausesNoError", s.slowConnectionCausesNoError)
	t.Run("LateRequestLeavesNoKey", s.lateRequestLeavesNoKey)
	t.Run("WaitOutlastsAnOutage", s.waitOutlastsAnOutage)
	t.Run("NotifySendsAfterAReconnect", s.notifySendsAfterAReconnect)
}

// RunLostReplies is RunFaults for a driver whose requests are those of another one that runs it,
// and only what the server does with them differs: it may get each of them twice.
func RunLostReplies(
	t *testing.T, p Promises, address string, open func(tb testing.TB, hostport string) lock.Locker,
) {
	s := faultSuite{promises: p, retries: true, address: address, open: open}
	s.onceAndAlways(t, "LoseReply", faultproxy.LoseReply)
}

func (s faultSuite) onceAndAlways(t *testing.T, name string, f faultproxy.Fault) {
	t.Run(name+"Once", func(t *testing.T) { s.eachOperation(t, f, 1) })
	t.Run(name+"Always", func(t *testing.T) { s.eachOperation(t, f, faultproxy.Always) })
}

type faultSuite struct {
	promises Promises
	retries  bool
	address  string
	open     func(testing.TB, string) lock.Locker
}

func (s faultSuite) eachOperation(t *testing.T, f faultproxy.Fault, times int) {
	t.Parallel()
	t.Run("TryLock", func(t *testing.T) { s.tryLock(t, f, times) })
	t.Run("Extend", func(t *testing.T) { s.extend(t, f, times) })
	t.Run("Release", func(t *testing.T) { s.release(t, f, times) })
}

// finiteTTL is a ttl that outlives the client's own timeouts, and whose end a
// test can wait for.
func (s faultSuite) finiteTTL() time.Duration { return max(3*time.Second, 4*s.promises.Tick) }

// clients returns two clients that have been used, and the proxy of the first.
func (s faultSuite) clients(t *testing.T) (faulty, healthy lock.Locker, proxy *faultproxy.Proxy) {
	t.Helper()
	t.Parallel()
	open := func() (lock.Locker, *faultproxy.Proxy) {
		proxy, err := faultproxy.New(s.address)
		check.NoError(t, err)
		t.Cleanup(func() { _ = proxy.Close() })
		l := s.open(t, proxy.Addr())
		lease := MustTryLock(t, l, newKey(), longTTL)
		check.NoError(t, lease.Extend(t.Context(), longTTL))
		check.NoError(t, lease.Release(t.Context()))
		return l, proxy
	}
	faulty, proxy = open()
	healthy, _ = open()
	return faulty, healthy, proxy
}

// inject runs op with a fault and returns its error, which must leave the
// outcome unknown.
func (s faultSuite) inject(
	t *testing.T, proxy *faultproxy.Proxy, f faultproxy.Fault, times int, op func() error,
) error {
	t.Helper()
	proxy.Inject(f, "", times)
	err := op()
	if proxy.Hits() == 0 {
		t.Fatal("the proxy injected no fault")
	}
	proxy.Heal()
	if isVerdict(err) {
		t.Errorf("during a fault: %v, want neither ErrLocked nor ErrLost", err)
	}
	if times == 1 && s.retries && err != nil {
		t.Errorf("during one fault: %v, want the client to repeat the request", err)
	}
	if times == faultproxy.Always && err == nil {
		t.Error("during a permanent fault: no error")
	}
	return err
}

func (s faultSuite) tryLock(t *testing.T, f faultproxy.Fault, times int) {
	faulty, healthy, proxy := s.clients(t)
	key := newKey()
	var lease lock.Lease
	err := s.inject(t, proxy, f, times, func() (err error) {
		lease, err = faulty.TryLock(t.Context(), key, s.finiteTTL())
		return err
	})
	if err != nil {
		check.NoError(t, eventuallyTryLock(t, healthy, key).Release(t.Context()))
		return
	}
	WantLocked(t, healthy, key)
	check.NoError(t, lease.Extend(t.Context(), longTTL))
	check.NoError(t, lease.Release(t.Context()))
	next := MustTryLock(t, healthy, key, longTTL)
	if s.promises.Fences && next.Fence() <= lease.Fence() {
		t.Errorf("fence %d after %d, want a higher one", next.Fence(), lease.Fence())
	}
}

func (s faultSuite) extend(t *testing.T, f faultproxy.Fault, times int) {
	faulty, healthy, proxy := s.clients(t)
	key := newKey()
	lease := MustTryLock(t, faulty, key, longTTL)
	_ = s.inject(t, proxy, f, times, func() error { return lease.Extend(t.Context(), 2*longTTL) })
	check.NoError(t, verdictOfExtend(t, lease))
	WantLocked(t, healthy, key)
	check.NoError(t, lease.Release(t.Context()))
	MustTryLock(t, healthy, key, longTTL)
}

func (s faultSuite) release(t *testing.T, f faultproxy.Fault, times int) {
	faulty, healthy, proxy := s.clients(t)
	key := newKey()
	lease := MustTryLock(t, faulty, key, longTTL)
	err := s.inject(t, proxy, f, times, func() error { return lease.Release(t.Context()) })
	if err == nil {
		MustTryLock(t, healthy, key, longTTL)
		return
	}
	mustBe[lock.Drainer](t, faulty).Drain(t.Context()) // the release is repeated in the background
	next := MustTryLock(t, healthy, key, longTTL)
	if err := verdict(t, lease.Release); err != nil {
		check.ErrorIs(t, err, lock.ErrLost)
	}
	check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
	check.NoError(t, next.Release(t.Context()))
}

func (s faultSuite) slowConnectionCausesNoError(t *testing.T) {
	faulty, healthy, proxy := s.clients(t)
	key := newKey()
	proxy.Delay(50 * time.Millisecond)
	lease := MustTryLock(t, faulty, key, longTTL)
	check.NoError(t, lease.Extend(t.Context(), longTTL))
	WantLocked(t, healthy, key)
	check.NoError(t, lease.Release(t.Context()))
}

// notifySendsAfterAReconnect checks that a reconnect makes up for the
// notifications that were lost meanwhile.
func (s faultSuite) notifySendsAfterAReconnect(t *testing.T) {
	faulty, _, proxy := s.clients(t)
	wake, _ := MustNotify(t, mustBe[lock.Notifier](t, faulty), newKey())
	drain(wake)
	proxy.Disconnect()
	check.Receive(t, "a notification after the reconnect", wake)
}
