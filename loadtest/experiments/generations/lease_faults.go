package generations

import (
	"sync"
	"time"
)

// crashWhileLocking crashes the process before each command of its TryLock in
// turn.
func crashWhileLocking(s *scenario) outcome {
	for n := 1; s.err == nil; n++ {
		p := s.newProcess()
		crashed := p.crashBefore(n)
		_, _ = p.TryLock(s.ctx, longLease) // the process has crashed: its result is lost
		if crashed.Err() == nil {
			return held("crashed before each command (%d): free again after the lease", n-1)
		}
		if s.neverExpires() {
			return broke("crashed before command %d: PTTL -1, the lock never expires", n)
		}
		s.expireLease()
		s.lock(s.newProcess(), longLease)
		s.nextKey()
	}
	return outcome{}
}

// unlockAfterExpiry pauses the holder past its lease. Then the holder unlocks.
func unlockAfterExpiry(s *scenario) outcome {
	o, _ := s.pauseUnlockBefore(1)
	return o
}

// pauseWhileUnlocking pauses the holder before each command of its Unlock in
// turn, until its lease has expired and another process holds the lock.
func pauseWhileUnlocking(s *scenario) outcome {
	for n := 1; s.err == nil; n++ {
		o, paused := s.pauseUnlockBefore(n)
		if o.Broke {
			return o
		}
		if !paused {
			return held("paused before each command (%d): the next holder keeps the lock", n-1)
		}
	}
	return outcome{}
}

// neverExpires reports whether the key exists and has no TTL.
func (s *scenario) neverExpires() bool {
	ttl, err := s.dial(s.redis[0], nil).PTTL(s.ctx, s.key).Result()
	s.check(err)
	return ttl == -1 // go-redis returns -1 ns here, not -1 ms
}

// pauseUnlockBefore pauses A before the nth command of its Unlock until its
// lease has expired and B holds the lock. Then C tries to lock. It also
// reports whether Unlock has n commands.
func (s *scenario) pauseUnlockBefore(n int) (outcome, bool) {
	s.nextKey()
	a, b, c := s.newProcess(), s.newProcess(), s.newProcess()
	s.lock(a, longLease)
	paused := a.injectBefore(n, "pauses", sync.OnceValue(func() error {
		s.expireLease()
		s.lock(b, longLease)
		return nil
	}))
	s.unlock(a)
	if paused.Err() == nil {
		return outcome{}, false
	}
	if s.tryLock(c, longLease) {
		return broke("paused before command %d: A deleted B's lock and C locked too", n), true
	}
	return held("A deleted nothing; C is refused"), true
}

// unlockRefused has B unlock after it was refused, as code does whose finally
// unlocks in any case. Then C tries to lock.
func unlockRefused(s *scenario) outcome {
	a, b, c := s.newProcess(), s.newProcess(), s.newProcess()
	s.lock(a, longLease)
	if s.tryLock(b, longLease) {
		return broke("B locked too")
	}
	s.unlock(b)
	if s.tryLock(c, longLease) {
		return broke("B, which had no lock, deleted A's, and C locked too")
	}
	return held("B's unlock changes nothing; C is refused")
}

// workBeyondLease has A work for three leases while B tries to lock all the
// time.
func workBeyondLease(s *scenario) outcome { return s.workThreeLeases(func(*process) {}) }

// workThreeLeases is workBeyondLease with a fault of A's process after A has locked.
func (s *scenario) workThreeLeases(inject func(*process)) outcome {
	const lease = time.Second
	a, b := s.newProcess(), s.newProcess()
	s.lock(a, lease)
	inject(a)
	if took, locked := s.lockWithin(b, lease, 3*lease); locked {
		return broke("B locked too after %.1f of 3 leases", took.Seconds()/lease.Seconds())
	}
	s.unlock(a)
	s.lock(b, lease)
	return held("B was refused for 3 leases and locked after the unlock")
}
