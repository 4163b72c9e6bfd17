package generations

import "time"

// lockTwice has A lock twice and unlock once.
func lockTwice(s *scenario) outcome {
	key := s.newKey()
	a, b := s.newMutex(key), s.newMutex(key)
	s.lock(a, longLease)
	s.lock(a, longLease)
	s.unlock(a)
	if s.tryLock(b, longLease) {
		return broke("the inner unlock released the lock: B locked too")
	}
	s.unlock(a)
	s.lock(b, longLease)
	return held("B is refused until the outer unlock")
}

// retryAfterRefusal has B try to lock twice while A holds the lock.
func retryAfterRefusal(s *scenario) outcome {
	key := s.newKey()
	a, b := s.newMutex(key), s.newMutex(key)
	s.lock(a, longLease)
	if s.tryLock(b, longLease) {
		return broke("B's first attempt succeeded")
	}
	if s.tryLock(b, longLease) {
		return broke("B's second attempt succeeded without a request to Redis")
	}
	return held("B is refused both times")
}

// reenterAfterExpiry has A re-enter after its lease has expired and B holds the
// lock.
func reenterAfterExpiry(s *scenario) outcome {
	const lease = 300 * time.Millisecond
	key := s.newKey()
	a, b := s.newMutex(key), s.newMutex(key)
	s.lock(a, lease)
	time.Sleep(lease)
	s.waitExpired(s.redis[0], key)
	s.lock(b, longLease)
	if s.tryLock(a, longLease) {
		return broke("A re-entered the lock that B holds")
	}
	return held("A's re-entry is refused")
}
