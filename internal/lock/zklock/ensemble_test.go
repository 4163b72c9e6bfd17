package zklock

import (
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

// The client has noticed a silent server after two thirds of the session timeout, and still
// has time to resume its session at another one. The last third is the time for an election
// and a handshake, on a busy machine too.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	const timeout = 15 * time.Second
	ensemble := labtest.ZooKeeperEnsemble(t)
	locktest.RunEnsemble(t, ensemble.Leader, timeout, func(t *testing.T, m *lab.Member) lock.Locker {
		for {
			l, err := Open(ensemble.Addresses(), timeout)
			check.NoError(t, err)
			check.NoError(t, l.awaitConnection(t.Context()))
			if m == nil || l.conn.Server() == m.Address {
				t.Cleanup(l.Close)
				return l
			}
			l.Close()
		}
	})
}
