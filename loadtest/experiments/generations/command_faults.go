package generations

// crashWhileLocking crashes the process before each command of its TryLock in
// turn.
func crashWhileLocking(s *scenario) outcome {
	for n := 1; s.err == nil; n++ {
		s.nextKey()
		crashed := s.process(a).inject(crash, n)
		_, _ = s.process(a).TryLock(s.ctx, longLease) // the process has crashed: its result is lost
		if crashed.Err() == nil {
			return held("crashed before each command (%d): free again after the lease", n-1)
		}
		ttl, err := s.dial(s.redis[0], nil).PTTL(s.ctx, s.key).Result()
		if s.check(err); ttl == -1 { // go-redis returns -1 ns here, not -1 ms
			return broke("crashed before command %d: PTTL -1, the lock never expires", n)
		}
		steps(expires, locks(b))(s)
	}
	return outcome{}
}

// pauseWhileUnlocking pauses A before each command of its Unlock in turn, until its
// lease has expired and B holds the lock. Then C tries to lock.
func pauseWhileUnlocking(s *scenario) outcome {
	for n := 1; s.err == nil; n++ {
		s.nextKey()
		s.lock(a, longLease)
		paused := s.process(a).inject(pause, n)
		s.unlock(a)
		if paused.Err() == nil {
			return held("paused before each command (%d): the next holder keeps the lock", n-1)
		}
		if s.tryLock(c, longLease) {
			return broke("paused before command %d: A deleted B's lock and C locked too", n)
		}
	}
	return outcome{}
}
