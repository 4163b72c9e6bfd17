package locktest

import (
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lock"
)

// RunFaults does to every operation of a driver what networks do. Whatever is
// lost, the driver must not take it for a verdict, and no key may stay closed
// for longer than its lease.
//
// The service is at network and address; open makes a client of it that dials
// host:port instead, and gives up on a silent line within about a second.
// Retries promises that the client repeats what it lost, so that one lost
// request or reply harms nothing.
func RunFaults(t *testing.T, p Promises, retries bool, network, address string, open func(tb testing.TB, hostport string) lock.Locker) {
	s := faults{p: p, retries: retries, network: network, address: address, open: open}
	for name, fault := range faultproxy.Faults {
		for _, times := range []int{1, faultproxy.Always} {
			name := name + "Once"
			if times == faultproxy.Always {
				name = name[:len(name)-len("Once")] + "Always"
			}
			t.Run(name, func(t *testing.T) {
				t.Run("TryLock", func(t *testing.T) { s.tryLock(t, fault, times) })
				t.Run("Extend", func(t *testing.T) { s.extend(t, fault, times) })
				t.Run("ExtendAll", func(t *testing.T) { s.extendAll(t, fault, times) })
				t.Run("Release", func(t *testing.T) { s.release(t, fault, times) })
			})
		}
	}
	t.Run("CutLinesAreMended", s.cut)
	t.Run("SlowLinesAreLinesToo", s.slow)
	t.Run("InterruptedListenerIsWoken", s.interrupted)
}

type faults struct {
	p                Promises
	retries          bool
	network, address string
	open             func(testing.TB, string) lock.Locker
}

// enough is a ttl that outlives the client's own timeouts, and can be waited for.
func (s faults) enough() time.Duration { return max(3*time.Second, 4*s.p.Tick) }

// clients are one whose line can be harmed, already in use, and one beside it.
func (s faults) clients(t *testing.T) (harmed, whole lock.Locker, line *faultproxy.Proxy) {
	t.Helper()
	t.Parallel()
	open := func() (lock.Locker, *faultproxy.Proxy) {
		line, err := faultproxy.New(s.network, s.address)
		fine(t, "proxy", err)
		t.Cleanup(func() { _ = line.Close() })
		l := s.open(t, line.Addr())
		lease := take(t, l, key(), long)
		fine(t, "extend", lease.Extend(t.Context(), long))
		fine(t, "release", lease.Release(t.Context()))
		return l, line
	}
	harmed, line = open()
	whole, _ = open()
	return harmed, whole, line
}

// strike harms the line during one operation and returns its error, which must
// not be a verdict.
func (s faults) strike(t *testing.T, line *faultproxy.Proxy, f faultproxy.Fault, times int, do func() error) error {
	t.Helper()
	line.Inject(f, "", times)
	err := do()
	if line.Hits() == 0 {
		t.Fatal("the fault did not strike")
	}
	line.Heal()
	if errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) {
		t.Errorf("a broken line gave the verdict %v", err)
	}
	if times == 1 && s.retries && err != nil {
		t.Errorf("one fault, which the client can mend: %v", err)
	}
	if times == faultproxy.Always && err == nil {
		t.Error("no error from a line that never works")
	}
	return err
}

func (s faults) tryLock(t *testing.T, f faultproxy.Fault, times int) {
	harmed, whole, line := s.clients(t)
	k := key()
	var lease lock.Lease
	err := s.strike(t, line, f, times, func() (err error) {
		lease, err = harmed.TryLock(t.Context(), k, s.enough())
		return err
	})
	if err != nil {
		fine(t, "release", takeSoon(t, whole, k, long).Release(t.Context()))
		return
	}
	refused(t, whole, k)
	fine(t, "extend", lease.Extend(t.Context(), long))
	fine(t, "release", lease.Release(t.Context()))
	next := take(t, whole, k, long)
	if s.p.Fences && next.Fence() <= lease.Fence() {
		t.Errorf("fence %d after %d", next.Fence(), lease.Fence())
	}
}

func (s faults) extend(t *testing.T, f faultproxy.Fault, times int) {
	harmed, whole, line := s.clients(t)
	k := key()
	lease := take(t, harmed, k, long)
	_ = s.strike(t, line, f, times, func() error { return lease.Extend(t.Context(), 2*long) })
	fine(t, "extend, when all is well again", lease.Extend(t.Context(), long))
	refused(t, whole, k)
	fine(t, "release", lease.Release(t.Context()))
	take(t, whole, k, long)
}

func (s faults) extendAll(t *testing.T, f faultproxy.Fault, times int) {
	if !s.p.Batches {
		t.Skip("extends no batches")
	}
	harmed, _, line := s.clients(t)
	l := harmed.(lock.BatchExtender)
	leases := []lock.Lease{take(t, l, key(), long), take(t, l, key(), long)}
	_ = s.strike(t, line, f, times, func() error { return errors.Join(l.ExtendAll(t.Context(), long, leases)...) })
	fine(t, "extend all, when all is well again", errors.Join(l.ExtendAll(t.Context(), long, leases)...))
}

// release harms the second time, so that the key has been released and taken
// before: a driver must not confuse the two.
func (s faults) release(t *testing.T, f faultproxy.Fault, times int) {
	harmed, whole, line := s.clients(t)
	k := key()
	lease := take(t, harmed, k, s.enough())
	err := s.strike(t, line, f, times, func() error { return lease.Release(t.Context()) })
	if err == nil {
		take(t, whole, k, long)
		return
	}
	if again := lease.Release(t.Context()); again != nil && !errors.Is(again, lock.ErrLost) {
		t.Errorf("release, when all is well again: %v", again)
	}
	next := takeSoon(t, whole, k, long)
	lost(t, "release of a lease that is over", lease.Release(t.Context()))
	fine(t, "release by the next holder", next.Release(t.Context()))
}

func (s faults) cut(t *testing.T) {
	harmed, whole, line := s.clients(t)
	if !s.retries {
		t.Skip("the client mends nothing by itself")
	}
	k := key()
	lease := take(t, harmed, k, long)
	line.Disconnect()
	fine(t, "extend", lease.Extend(t.Context(), long))
	line.Disconnect()
	fine(t, "release", lease.Release(t.Context()))
	take(t, whole, k, long)
}

func (s faults) slow(t *testing.T) {
	harmed, whole, line := s.clients(t)
	k := key()
	line.Delay(50 * time.Millisecond)
	lease := take(t, harmed, k, long)
	fine(t, "extend", lease.Extend(t.Context(), long))
	refused(t, whole, k)
	fine(t, "release", lease.Release(t.Context()))
}

// interrupted loses the wake-up itself, and wants the one that a connection
// owes its listeners when it is back.
func (s faults) interrupted(t *testing.T) {
	if !s.p.Notifies {
		t.Skip("does not notify")
	}
	harmed, _, line := s.clients(t)
	wake := make(chan struct{}, 1)
	stop, err := harmed.(lock.Notifier).Notify(key(), wake)
	fine(t, "notify", err)
	defer stop()
	woken(t, wake, "when it began to listen")
	settle(wake)
	line.Disconnect()
	woken(t, wake, "when the line was back")
}
