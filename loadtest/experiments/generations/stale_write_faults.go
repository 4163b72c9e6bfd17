package generations

import (
	"slices"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/holder"
)

// pauseBeforeWriting pauses the holder past its lease. Then the holder writes.
func pauseBeforeWriting(s *scenario) outcome {
	a, b := s.newProcess(), s.newProcess()
	s.lock(a, longLease)
	s.expireLease()
	return s.writeBoth(a, b)
}

// stepClock steps the clock of one server past the end of A's lease. The clocks of
// the other servers and of the processes do not step.
func stepClock(s *scenario) outcome {
	stepped, err := lab.StartSteppedRedis(s.lab)
	s.check(err)
	if err != nil {
		return outcome{}
	}
	s.redis[0].Kill()
	s.redis[0] = stepped.Redis
	a, b := s.newProcess(), s.newProcess()
	s.lock(a, longLease)
	s.fault("the server's clock steps past the lease")
	s.check(stepped.Step(2 * longLease))
	return s.writeBoth(a, b)
}

// failOver has so many masters crash, the first of which A has locked. Each replica that
// takes the place of one has not received its lock.
func failOver(times int) func(*scenario) outcome {
	return func(s *scenario) outcome {
		replicas := s.isolatedReplicas(times)
		a := s.newProcess()
		if !s.tryLock(a, longLease) {
			return held("A is refused: no replica has its lock")
		}
		holders := []*process{a}
		for _, r := range replicas {
			s.promote(r)
			if next := s.newProcess(); s.tryLock(next, longLease) {
				holders = append(holders, next)
			}
		}
		return s.writeLatestFirst(holders)
	}
}

// writeBoth has B write if B gets the lock, and then A, which has it.
func (s *scenario) writeBoth(a, b *process) outcome {
	holders := []*process{a}
	if s.tryLock(b, longLease) {
		holders = append(holders, b)
	}
	return s.writeLatestFirst(holders)
}

// writeLatestFirst has the holders write, A last.
func (s *scenario) writeLatestFirst(holders []*process) outcome {
	if len(holders) == 1 {
		return held("the others are refused: the other nodes have A's lock")
	}
	var written []holder.Line
	for _, p := range slices.Backward(holders) {
		p.write()
		written = append(written, p.lines[len(p.lines)-1])
	}
	last := len(written) - 1
	if holder.Stale(written)[written[last]] {
		return held("%d hold the lock; whatever checks fences refuses the older ones", len(holders))
	}
	return broke("%d hold the lock; A's late write replaced %s's", len(holders), holders[last].name)
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
	s.fault("the master crashes, and its replica becomes master")
	s.redis[0].Kill()
	s.redis[0] = r
	r.Resume()
	s.check(s.dial(r, nil).ReplicaOf(s.ctx, "NO", "ONE").Err())
}
