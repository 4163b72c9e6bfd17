package generations

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// handOver has sixteen processes wait while A holds the lock, and hand it over to each
// other. It counts ZooKeeper's requests.
func handOver(s *scenario) outcome {
	const waiters = 16
	s.lock(a, longLease)
	var done errgroup.Group
	for i := range waiters {
		m := s.process(i + 1)
		done.Go(func() error {
			ok, err := m.TryLock(s.ctx, longLease)
			if !ok {
				return errors.Join(errors.New("a waiter was refused"), err)
			}
			time.Sleep(10 * time.Millisecond) // so that all watch again
			return m.Unlock(s.ctx)
		})
	}
	s.awaitWatches(waiters)
	before, err := s.zookeeper.Received(s.ctx)
	s.check(err)
	s.unlock(a)
	s.check(done.Wait())
	after, err := s.zookeeper.Received(s.ctx)
	s.check(err)
	requests := float64(after-before) / waiters
	return outcome{requests > waiters/2,
		fmt.Sprintf("%.1f requests for each hand-over among %d waiters", requests, waiters)}
}

// awaitWatches waits until clients watch nodes n times.
func (s *scenario) awaitWatches(n int) {
	for s.err == nil {
		watches, err := s.zookeeper.Watches(s.ctx)
		s.check(err)
		if watches >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
