package generations

import "time"

// hangNode stops one of the independent nodes. The node still accepts
// connections but sends no reply.
func hangNode(s *scenario) outcome {
	const lease = time.Second
	m := s.newProcess()
	s.redis[2].Pause()
	defer s.redis[2].Resume()
	start := time.Now()
	ok, _ := m.TryLock(s.ctx, lease) // an error counts as a refusal
	took := time.Since(start).Round(10 * time.Millisecond)
	if !ok {
		return broke("refused after %s, though 4 of 5 nodes reply", took)
	}
	return held("locked after %s by the 4 of 5 nodes that reply", took)
}

// delayNode stops the last node until most of A's lease is over. B tries until
// it gets the lock.
func delayNode(s *scenario) outcome {
	const lease = 1500 * time.Millisecond
	last := s.redis[len(s.redis)-1]
	a, b := s.newProcess(), s.newProcess()
	last.Pause()
	defer time.AfterFunc(lease*4/5, last.Resume).Stop()
	defer last.Resume()
	s.lock(a, lease)
	deadline := leaseDeadline(a, lease)
	s.lockWithin(b, longLease, longLease)
	if early := time.Until(deadline); early > 0 {
		return broke("B locked %s before A's lease ends by A's own count", early.Round(10*time.Millisecond))
	}
	return held("A counts its lease from before its first request; B locked after that")
}

// leaseDeadline returns the end of the lease as its holder computes it.
// The articles' locks return no deadline, so their holder counts the whole
// lease from the moment TryLock returned.
func leaseDeadline(p *process, lease time.Duration) time.Time {
	if l := p.acquired(); l != nil {
		return l.Deadline()
	}
	return time.Now().Add(lease)
}
