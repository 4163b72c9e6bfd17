package generations

import "time"

// lockTwice has A lock twice and unlock once.
func lockTwice(s *scenario) outcome {
	a, b := s.newProcess(), s.newProcess()
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

// orderUnderLock has A take one of a stock of 100 under the lock, which it takes again
// for the sales count within. B orders as soon as it gets the lock.
func orderUnderLock(s *scenario) outcome {
	a, b := s.newProcess(), s.newProcess()
	s.lock(a, longLease) // and A reads the stock
	if !s.tryLock(a, longLease) {
		return broke("A's own lock refuses A: no sale is counted")
	}
	s.unlock(a)
	if s.tryLock(b, longLease) { // A, which has read 100, overwrites the stock that B writes
		return broke("B ordered inside A's section: 2 sold, stock 99 of 100")
	}
	s.unlock(a)
	s.lock(b, longLease)
	return held("B waits for A's outer unlock: 2 sold, stock 98 of 100")
}

// retryAfterRefusal has B try to lock twice while A holds the lock.
func retryAfterRefusal(s *scenario) outcome {
	a, b := s.newProcess(), s.newProcess()
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
	a, b := s.newProcess(), s.newProcess()
	s.lock(a, lease)
	time.Sleep(lease + time.Millisecond) // the server's lease ends with its last millisecond
	s.lock(b, longLease)
	if s.tryLock(a, longLease) {
		return broke("A re-entered the lock that B holds")
	}
	return held("A's re-entry is refused")
}
