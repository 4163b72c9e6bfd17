package main

import (
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab"
)

// sleepsWriting lets the holder sleep beyond its lease, and then write.
func sleepsWriting(s *scene) outcome {
	key := s.key()
	a, b := s.g.open(s.process(), key), s.g.open(s.process(), key)
	s.takes(a, long)
	s.elapse(key)
	return s.writes(a, true, b)
}

// failsOver replaces the (first) Redis by a replica that the lock has not
// reached.
func failsOver(s *scene) outcome {
	key := s.key()
	replica := s.replica()
	if s.err != nil {
		return outcome{}
	}
	s.cutOff(replica)
	a := s.g.open(s.process(), key)
	ok := s.tries(a, long)
	s.promote(replica)
	return s.writes(a, ok, s.g.open(s.process(), key))
}

// writes has B write, if it gets the lock, and then A, if it has it.
func (s *scene) writes(a mutex, locked bool, b mutex) outcome {
	name, err := s.resource.create(s.ctx)
	s.check(err)
	if !locked {
		return held("A is refused, for its lock is nowhere else")
	}
	second := s.tries(b, long)
	if second {
		s.check(s.resource.write(s.ctx, name, "B", fence(b)))
	}
	s.check(s.resource.write(s.ctx, name, "A", fence(a)))
	value, err := s.resource.read(s.ctx, name)
	s.check(err)
	switch {
	case !second:
		return held("B is refused: the others know of A")
	case value == "A":
		return broke("both hold it; A's late write is over B's")
	}
	return held("both hold it; the database refuses A's fence")
}

func fence(m mutex) uint64 {
	if f, ok := m.(interface{ Fence() uint64 }); ok {
		return f.Fence()
	}
	return 0
}

// replica starts one of the first Redis and waits until it is in step.
func (s *scene) replica() *lab.Redis {
	opts, err := redis.ParseURL(s.redis[0].URL)
	s.check(err)
	host, port, err := net.SplitHostPort(opts.Addr)
	s.check(err)
	r, err := s.lab.RedisTCP("--replicaof", host+" "+port, "--repl-diskless-sync-delay", "0")
	if err != nil {
		s.check(err)
		return nil
	}
	s.redis = append(s.redis, r) // to be ended with the others
	s.observe(s.redis[0], func(rdb *redis.Client) error {
		for {
			if n, err := rdb.Wait(s.ctx, 1, time.Second).Result(); n == 1 || err != nil {
				return err
			}
		}
	})
	s.redis = s.redis[:len(s.redis)-1]
	return r
}

// cutOff stops r and its link: nothing written from now on reaches it.
func (s *scene) cutOff(r *lab.Redis) {
	r.Pause()
	s.observe(s.redis[0], func(rdb *redis.Client) error {
		return rdb.ClientKillByFilter(s.ctx, "TYPE", "replica").Err()
	})
}

// promote ends the first Redis and puts r in its place.
func (s *scene) promote(r *lab.Redis) {
	s.redis[0].Kill()
	s.redis[0] = r
	r.Resume()
	s.observe(r, func(rdb *redis.Client) error { return rdb.ReplicaOf(s.ctx, "NO", "ONE").Err() })
}
