package generations

import (
	"context"
	"time"
)

// queueTimeout is how long a waiter may wait for a free lock before the queue
// counts as blocked.
const queueTimeout = 6 * time.Second

// lockInTurn has A lock and unlock, and then B lock.
func lockInTurn(s *scenario) outcome {
	key := s.newKey()
	a, b := s.newMutex(key), s.newMutex(key)
	s.lock(a, longLease)
	s.unlock(a)
	return s.lockFree(b, "the second process")
}

// crashWhileWaiting crashes a waiter in the queue. Then the holder unlocks, and
// another process waits.
func crashWhileWaiting(s *scenario) outcome {
	key, crashing := s.newKey(), s.startProcess()
	a, b, c := s.newMutex(key), s.newMutexIn(crashing, key), s.newMutex(key)
	s.lock(a, longLease)
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = b.TryLock(ctx, longLease)
	}()
	for crashing.commandCount() < 2 { // the second command follows the queue entry
		time.Sleep(time.Millisecond)
	}
	crashing.crashBefore(1)
	cancel()
	<-done
	s.unlock(a)
	return s.lockFree(c, "the next waiter")
}

// lockFree has m lock a free lock within queueTimeout. name is the process in
// the outcome's text.
func (s *scenario) lockFree(m mutex, name string) outcome {
	ctx, cancel := context.WithTimeout(s.ctx, queueTimeout)
	defer cancel()
	start := time.Now()
	ok, err := m.TryLock(ctx, longLease)
	if ok {
		return held("%s locked after %d ms", name, time.Since(start).Milliseconds())
	}
	if ctx.Err() == nil {
		s.check(err)
	}
	return broke("the lock is free, and %s still waits after %s", name, queueTimeout)
}
