package generations

import (
	"slices"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab"
)

// pauseBeforeWriting pauses the holder past its lease. Then the holder writes.
func pauseBeforeWriting(s *scenario) outcome {
	a, b := s.newProcess(), s.newProcess()
	s.lock(a, longLease)
	s.expireLease()
	return s.writeBoth(a, true, b)
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
	return s.writeBoth(a, true, b)
}

// failOver promotes a replica that has not received the lock.
func failOver(s *scenario) outcome {
	replicas := s.startReplicas(1)
	if s.err != nil {
		return outcome{}
	}
	replica := replicas[0]
	s.disconnect(replica)
	a := s.newProcess()
	ok := s.tryLock(a, longLease)
	s.promote(replica)
	return s.writeBoth(a, ok, s.newProcess())
}

// failOverTwice is what an article fears of Sentinel: the master A crashes, then B,
// which took its place, and neither had replicated its lock.
func failOverTwice(s *scenario) outcome {
	replicas := s.startReplicas(2)
	if s.err != nil {
		return outcome{}
	}
	for _, r := range replicas {
		r.Pause()
	}
	s.disconnect(replicas[0])
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

// writeBoth has B write if B gets the lock, and then A if locked says that A has
// the lock.
func (s *scenario) writeBoth(a *process, locked bool, b *process) outcome {
	if !locked {
		return held("A is refused: no replica has its lock")
	}
	holders := []*process{a}
	if s.tryLock(b, longLease) {
		holders = append(holders, b)
	}
	return s.writeLatestFirst(holders)
}

// writeLatestFirst has the holders write, A last.
func (s *scenario) writeLatestFirst(holders []*process) outcome {
	last := len(holders) - 1
	if last == 0 {
		return held("the others are refused: the other nodes have A's lock")
	}
	var fences []uint64
	for _, m := range slices.Backward(holders) {
		fences = append(fences, fenceOf(m))
	}
	refused, err := s.store.Refused(s.ctx, fences...)
	s.check(err)
	if err != nil || refused[last] {
		return held("%d hold the lock; the database refuses the older fences", len(holders))
	}
	return broke("%d hold the lock; A's late write replaced %s's", len(holders), holders[last].name)
}

// fenceOf returns the fence of p's lease, or 0 if it has none.
func fenceOf(p *process) uint64 {
	if m, ok := p.mutex.(*clientMutex); ok {
		return m.last().Fence()
	}
	return 0
}

// startReplicas starts replicas of the first Redis, which have caught up.
func (s *scenario) startReplicas(n int) []*lab.Redis {
	replicas, err := lab.StartReplicas(s.lab, s.redis[0], n)
	s.check(err)
	return replicas
}

// disconnect stops r and closes its replication link. r receives no later write.
func (s *scenario) disconnect(r *lab.Redis) {
	r.Pause()
	s.withClient(s.redis[0], func(rdb *redis.Client) error {
		return rdb.ClientKillByFilter(s.ctx, "TYPE", "replica").Err()
	})
}

// promote kills the first Redis and makes r the master.
func (s *scenario) promote(r *lab.Redis) {
	s.fault("the master crashes, and its replica becomes master")
	s.redis[0].Kill()
	s.redis[0] = r
	r.Resume()
	s.withClient(r, func(rdb *redis.Client) error { return rdb.ReplicaOf(s.ctx, "NO", "ONE").Err() })
}
