package generations

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
)

// queueTimeout is how long a waiter may wait for a free lock before the queue
// counts as blocked.
const queueTimeout = 6 * time.Second

// lockInTurn has A lock and unlock, and then B lock.
func lockInTurn(s *scenario) outcome {
	a, b := s.newProcess(), s.newProcess()
	s.lock(a, longLease)
	s.unlock(a)
	return s.lockFree(b, "the second process")
}

// crashWhileWaiting crashes a waiter in the queue. Then the holder unlocks, and
// another process waits.
func crashWhileWaiting(s *scenario) outcome {
	a, b, c := s.newProcess(), s.newProcess(), s.newProcess()
	s.lock(a, longLease)
	crashed := b.crashBefore(2) // the second command follows the queue entry
	_, _ = b.TryLock(crashed, longLease)
	s.unlock(a)
	return s.lockFree(c, "the next waiter")
}

// handOver has sixteen processes wait while A holds the lock, and hand it over to each
// other. It counts ZooKeeper's requests.
func handOver(s *scenario) outcome {
	const waiters = 16
	a := s.newProcess()
	s.lock(a, longLease)
	var done errgroup.Group
	for range waiters {
		m := s.newProcess()
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
	if requests > waiters/2 {
		return broke("%.1f requests for each hand-over among %d waiters", requests, waiters)
	}
	return held("%.1f requests for each hand-over among %d waiters", requests, waiters)
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

// lockFree has p lock a free lock within queueTimeout, which the outcome calls name.
func (s *scenario) lockFree(p *process, name string) outcome {
	ctx, cancel := context.WithTimeout(s.ctx, queueTimeout)
	defer cancel()
	start := time.Now()
	ok, err := p.TryLock(ctx, longLease)
	if ok {
		return held("%s locked after %d ms", name, time.Since(start).Milliseconds())
	}
	if ctx.Err() == nil {
		s.check(err)
	}
	return broke("the lock is free, and %s still waits after %s", name, queueTimeout)
}
