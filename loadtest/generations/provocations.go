package main

import (
	"context"
	"time"
)

// diesLocking kills the process before each command of its TryLock in turn.
func diesLocking(s *scene) outcome {
	for n := 1; s.err == nil; n++ {
		key, a := s.key(), s.process()
		a.dieBefore(n)
		_, _ = s.g.open(a, key).TryLock(s.ctx, long) // nobody is left to hear the answer
		if !a.disarm() {
			return held("died at each point (%d): free again after the lease", n-1)
		}
		if s.forever(key) {
			return broke("died before command %d: PTTL -1, for ever", n)
		}
		s.elapse(key)
		s.takes(s.g.open(s.process(), key), long)
	}
	return outcome{}
}

// wakesLate lets the holder sleep beyond its lease, and then unlock.
func wakesLate(s *scene) outcome {
	o, _ := s.unlocksBehind(1)
	return o
}

// sleepsUnlocking lets the lease end, and another come in, before each command
// of the holder's Unlock in turn.
func sleepsUnlocking(s *scene) outcome {
	for n := 1; s.err == nil; n++ {
		o, slept := s.unlocksBehind(n)
		if o.Broke {
			return o
		}
		if !slept {
			return held("slept at each point (%d): the next holder keeps it", n-1)
		}
	}
	return outcome{}
}

// unlocksBehind has A sleep before the nth command of its Unlock until its
// lease has ended and B holds the lock; then C asks for it. It reports also
// whether Unlock has so many commands.
func (s *scene) unlocksBehind(n int) (outcome, bool) {
	key, process := s.key(), s.process()
	a, b, c := s.g.open(process, key), s.g.open(s.process(), key), s.g.open(s.process(), key)
	s.takes(a, long)
	process.sleepBefore(n, func() {
		s.elapse(key)
		s.takes(b, long)
	})
	s.lets(a)
	if !process.disarm() {
		return outcome{}, false
	}
	if s.tries(c, long) {
		return broke("slept before command %d: A freed B's lock and C came in", n), true
	}
	return held("A freed nothing; C is refused"), true
}

// worksLong needs three leases for its work, while B asks all the time.
func worksLong(s *scene) outcome {
	const lease = time.Second
	key := s.key()
	a, b := s.g.open(s.process(), key), s.g.open(s.process(), key)
	s.takes(a, lease)
	began := time.Now()
	for time.Since(began) < 3*lease && s.err == nil {
		if s.tries(b, lease) {
			return broke("B came in after %.1f of 3 leases", time.Since(began).Seconds()/lease.Seconds())
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.lets(a)
	s.takes(b, lease)
	return held("B was refused for 3 leases, and came in after the unlock")
}

// locksTwice takes the lock outside and inside, and lets go inside.
func locksTwice(s *scene) outcome {
	key := s.key()
	a, b := s.g.open(s.process(), key), s.g.open(s.process(), key)
	s.takes(a, long)
	s.takes(a, long)
	s.lets(a)
	if s.tries(b, long) {
		return broke("the inner unlock freed it: B came in")
	}
	s.lets(a)
	s.takes(b, long)
	return held("B is refused until the outer unlock")
}

// asksAgain is refused, and asks again.
func asksAgain(s *scene) outcome {
	key := s.key()
	a, b := s.g.open(s.process(), key), s.g.open(s.process(), key)
	s.takes(a, long)
	if s.tries(b, long) {
		return broke("B came in at once")
	}
	if s.tries(b, long) {
		return broke("B's second question was answered yes, unasked")
	}
	return held("B is refused both times")
}

// entersLate re-enters after its lease has ended and another holds the lock.
func entersLate(s *scene) outcome {
	const lease = 300 * time.Millisecond
	key := s.key()
	a, b := s.g.open(s.process(), key), s.g.open(s.process(), key)
	s.takes(a, lease)
	time.Sleep(lease)
	s.await(s.redis[0], key)
	s.takes(b, long)
	if s.tries(a, long) {
		return broke("A re-entered what B holds")
	}
	return held("A's re-entry is refused")
}

// patience is how long somebody waits in vain for a free lock before we call
// it lost.
const patience = 6 * time.Second

// queues has one after the other take the lock.
func queues(s *scene) outcome {
	key := s.key()
	a, b := s.g.open(s.process(), key), s.g.open(s.process(), key)
	s.takes(a, long)
	s.lets(a)
	return s.comesIn(b, "the second in all its life")
}

// diesWaiting lets a waiter die in the queue, and then the holder unlock.
func diesWaiting(s *scene) outcome {
	key, waiting := s.key(), s.process()
	a, b, c := s.g.open(s.process(), key), s.g.open(waiting, key), s.g.open(s.process(), key)
	s.takes(a, long)
	ctx, die := context.WithCancel(s.ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = b.TryLock(ctx, long)
	}()
	for waiting.commands() < 2 { // then it stands in the queue
		time.Sleep(time.Millisecond)
	}
	waiting.dieBefore(1)
	die()
	<-gone
	s.lets(a)
	return s.comesIn(c, "the one behind the dead")
}

func (s *scene) comesIn(m mutex, who string) outcome {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	began := time.Now()
	ok, err := m.TryLock(ctx, long)
	if ok {
		return held("%s came in after %d ms", who, time.Since(began).Milliseconds())
	}
	if ctx.Err() == nil {
		s.check(err)
	}
	return broke("the lock is free, and %s waits in vain", who)
}
