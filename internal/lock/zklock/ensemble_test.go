package zklock

import (
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

// The leader to which the holder is connected is partitioned, then the next one
// is killed. The client has noticed a silent server after two thirds of the
// session timeout, and still has time to resume its session at another one.
func TestLeaseOutlivesTheLeaderOfTheEnsemble(t *testing.T) {
	t.Parallel()
	ensemble := labtest.ZooKeeperEnsemble(t)
	for _, fault := range []struct {
		name string
		make func(*lab.Member) error
		heal func(*lab.Member) error
	}{
		{"Partitioned", func(m *lab.Member) error { return m.Host.Disconnect() }, (*lab.Member).Rejoin},
		{"Killed", func(m *lab.Member) error { m.Kill(); return nil }, nil},
	} {
		t.Run(fault.name, func(t *testing.T) {
			leader, err := ensemble.Leader()
			if err != nil {
				t.Fatal(err)
			}
			l, key := openAt(t, ensemble, leader), labtest.Name(t)
			held, err := l.TryLock(t.Context(), key, ensembleTimeout)
			if err != nil {
				t.Fatal(err)
			}
			if err := fault.make(leader); err != nil {
				t.Fatal(err)
			}
			awaitExtend(t, held)
			other := openAt(t, ensemble, nil)
			if _, err := other.TryLock(t.Context(), key, time.Second); !errors.Is(err, lock.ErrLocked) {
				t.Errorf("TryLock by another client: %v, want ErrLocked", err)
			}
			if err := held.Release(t.Context()); err != nil {
				t.Errorf("Release: %v", err)
			}
			var next lock.Lease
			// What its refused attempt has created may still be there.
			labtest.Eventually(t, "the other client has the lock", func() bool {
				next, err = other.TryLock(t.Context(), key, time.Second)
				return err == nil
			})
			if next.Fence() <= held.Fence() {
				t.Errorf("fence %d, want a higher one than %d", next.Fence(), held.Fence())
			}
			if fault.heal == nil {
				return
			}
			if err := fault.heal(leader); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// ensembleTimeout is the session timeout. Its last third is the time for an
// election and a handshake, on a busy machine too.
const ensembleTimeout = 24 * time.Second

// openAt returns a locker that is connected to the given member, or to any.
func openAt(t *testing.T, e *lab.Ensemble, m *lab.Member) *Locker {
	t.Helper()
	for {
		l, err := Open(e.Addresses(), ensembleTimeout)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.awaitConnection(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m == nil || l.conn.Server() == m.Address {
			t.Cleanup(l.Close)
			return l
		}
		l.Close()
	}
}

// awaitExtend extends held as soon as there is a server.
func awaitExtend(t *testing.T, held lock.Lease) {
	t.Helper()
	for {
		err := held.Extend(t.Context(), ensembleTimeout)
		if err == nil {
			return
		}
		if errors.Is(err, lock.ErrLost) {
			t.Fatalf("Extend: %v", err)
		}
	}
}
