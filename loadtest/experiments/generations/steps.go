package generations

import (
	"context"
	"time"
)

// A step is a part of an experiment. Its outcome is empty if it shows nothing.
type step func(*scenario) outcome

// steps are done in turn until one breaks the generation. The last outcome counts.
func steps(all ...step) step {
	return func(s *scenario) (last outcome) {
		for _, do := range all {
			if o := do(s); o.Seen != "" {
				last = o
			}
			if last.Broke || s.err != nil {
				break
			}
		}
		return last
	}
}

// The processes of a scenario, by their numbers.
const (
	a = iota
	b
	c
)

// locks has a process lock the key, which must be free.
func locks(process int) step { return locksFor(process, longLease) }

func locksFor(process int, ttl time.Duration) step {
	return func(s *scenario) outcome { s.lock(process, ttl); return outcome{} }
}

// locksAtLast has a process try to lock until it does.
func locksAtLast(process int) step {
	return func(s *scenario) outcome { s.lockWithin(process, longLease, longLease); return outcome{} }
}

// tries has a process try to lock.
func tries(process int) step {
	return func(s *scenario) outcome { s.tryLock(process, longLease); return outcome{} }
}

func unlocks(process int) step {
	return func(s *scenario) outcome { s.unlock(process); return outcome{} }
}

// refused has a process try to lock, which must be refused.
func refused(process int, locked, refused string) step {
	return func(s *scenario) outcome {
		if s.tryLock(process, longLease) {
			return outcome{true, locked}
		}
		return outcome{false, refused}
	}
}

// reenters has a process lock what it holds.
func reenters(process int, refused string) step {
	return func(s *scenario) outcome { return outcome{!s.tryLock(process, longLease), refused} }
}

// suffers has a fault strike a process before its nth command from now.
func suffers(process int, f fault, n int) step {
	return func(s *scenario) outcome { s.struck = s.process(process).inject(f, n); return outcome{} }
}

// expires ends the key's lease on every server, as if its time had passed there.
// The processes' clocks do not advance.
func expires(s *scenario) outcome {
	s.happens("the lease expires at the server")
	for _, r := range s.redis {
		s.check(s.dial(r, nil).PExpire(s.ctx, s.key, 0).Err()) // the server deletes the key at once
	}
	return outcome{}
}

// works has A work for three leases while B tries to lock all the time.
func works(s *scenario) outcome {
	if took, locked := s.lockWithin(b, lease, 3*lease); locked {
		return broke("B locked too after %.1f of 3 leases", took.Seconds()/lease.Seconds())
	}
	return held("B was refused for 3 leases and locked after the unlock")
}

// leavesNoLock has C try to lock for three leases after B has crashed.
func leavesNoLock(s *scenario) outcome {
	if took, locked := s.lockWithin(c, lease, 3*lease); locked {
		return held("C locked %.1f leases after B's crash", took.Seconds()/lease.Seconds())
	}
	return broke("A renews the lock that B died with: C is refused for 3 leases")
}

// knowsOfItsLoss looks whether A has been told of its loss, now that B has locked.
func knowsOfItsLoss(s *scenario) outcome {
	if l := s.process(a).acquired(); l != nil && l.Err() != nil {
		return held("A knew of its loss before B locked")
	}
	return broke("B locked, and nothing has told A")
}

// queueTimeout is how long a waiter may wait for a free lock before the queue
// counts as blocked.
const queueTimeout = 6 * time.Second

// crashInQueue crashes a waiter in the queue: the second command follows the queue entry.
func crashInQueue(process int) step {
	return func(s *scenario) outcome {
		s.struck = s.process(process).inject(crash, 2)
		_, _ = s.process(process).TryLock(s.struck, longLease) // its result is lost
		return outcome{}
	}
}

// waits has a process lock a free lock within queueTimeout.
func waits(process int, name string) step {
	return func(s *scenario) outcome {
		ctx, cancel := context.WithTimeout(s.ctx, queueTimeout)
		defer cancel()
		start := time.Now()
		ok, err := s.process(process).TryLock(ctx, longLease)
		if ok {
			return held("%s locked after %d ms", name, time.Since(start).Milliseconds())
		}
		if ctx.Err() == nil {
			s.check(err)
		}
		return broke("the lock is free, and %s still waits after %s", name, queueTimeout)
	}
}
