package generations

import (
	"slices"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/holder"
)

// lockAndStepClock has A lock, and steps the clock of one server past the end of A's lease. The
// clocks of the other servers and of the processes do not step.
func lockAndStepClock(s *scenario) outcome {
	stepped, err := lab.StartSteppedRedis(s.lab)
	if s.check(err); err != nil {
		return outcome{}
	}
	s.redis[0].Kill()
	s.redis[0] = stepped.Redis
	s.lock(a, longLease)
	s.happens("the server's clock steps past the lease")
	s.check(stepped.Step(2 * longLease))
	return outcome{}
}

// failOver has so many masters crash, the first of which A has locked. Each replica that
// takes the place of one has not received its lock.
func failOver(times int) step {
	return func(s *scenario) outcome {
		replicas := s.isolatedReplicas(times)
		if !s.tryLock(a, longLease) {
			return held("A is refused: no replica has its lock")
		}
		for i, r := range replicas {
			s.promote(r)
			s.tryLock(i+1, longLease)
		}
		return holdersWrite(s)
	}
}

// holdersWrite has those write who believe that they hold the lock, A last.
func holdersWrite(s *scenario) outcome {
	holders := slices.DeleteFunc(slices.Clone(s.processes), func(p *process) bool { return !p.holds })
	latest := len(holders) - 1
	if latest == 0 {
		return held("the others are refused: the other nodes have A's lock")
	}
	var written []holder.Line
	for _, p := range slices.Backward(holders) {
		p.write()
		written = append(written, p.lines[len(p.lines)-1])
	}
	if holder.Stale(written)[written[latest]] {
		return held("%d hold the lock; whatever checks fences refuses the older ones", len(holders))
	}
	return broke("%d hold the lock; A's late write replaced %s's", len(holders), holders[latest].name)
}

// isolatedReplicas starts replicas of the first Redis, stops them once they have caught up,
// and closes their links. They receive no later write.
func (s *scenario) isolatedReplicas(n int) []*lab.Redis {
	replicas, err := lab.StartReplicas(s.lab, s.redis[0], n)
	s.check(err)
	for _, r := range replicas {
		r.Pause()
	}
	s.check(s.dial(s.redis[0], nil).ClientKillByFilter(s.ctx, "TYPE", "replica").Err())
	return replicas
}

// promote kills the first Redis and makes r the master.
func (s *scenario) promote(r *lab.Redis) {
	s.happens("the master crashes, and its replica becomes master")
	s.redis[0].Kill()
	s.redis[0] = r
	r.Resume()
	s.check(s.dial(r, nil).ReplicaOf(s.ctx, "NO", "ONE").Err())
}

// hangNode stops one of the independent nodes. The node still accepts
// connections but sends no reply.
func hangNode(s *scenario) outcome {
	p := s.process(a) // connects to each node
	s.redis[2].Pause()
	defer s.redis[2].Resume()
	start := time.Now()
	ok, _ := p.TryLock(s.ctx, lease) // an error counts as a refusal
	took := time.Since(start).Round(10 * time.Millisecond)
	if !ok {
		return broke("refused after %s, though 4 of 5 nodes reply", took)
	}
	return held("locked after %s by the 4 of 5 nodes that reply", took)
}

// delayNode stops the last node until half of A's lease is over. B tries until
// it gets the lock.
func delayNode(s *scenario) outcome {
	const lease = 1500 * time.Millisecond
	last := s.redis[len(s.redis)-1]
	s.process(b) // connects to each node, as does A before it
	last.Pause()
	defer time.AfterFunc(lease/2, last.Resume).Stop()
	defer last.Resume()
	s.lock(a, lease)
	deadline := time.Now().Add(lease) // the articles' locks return none, so their holder counts from the return
	if l := s.process(a).acquired(); l != nil {
		deadline = l.Deadline()
	}
	s.lockWithin(b, longLease, longLease)
	if early := time.Until(deadline); early > 0 {
		return broke("B locked %s before A's lease ends by A's own count", early.Round(10*time.Millisecond))
	}
	return held("A counts its lease from before its first request; B locked after that")
}
