package main

import (
	"time"
)

// oneHangs stops one of the independent nodes, which then takes connections
// and answers nothing.
func oneHangs(s *scene) outcome {
	const lease = time.Second
	m := s.g.open(s.process(), s.key())
	s.redis[2].Pause()
	defer s.redis[2].Resume()
	began := time.Now()
	ok, _ := m.TryLock(s.ctx, lease) // an error is a refusal too
	took := time.Since(began).Round(10 * time.Millisecond)
	if !ok {
		return broke("refused after %s, though 4 of 5 are well", took)
	}
	return held("locked after %s by the 4 of 5 that are well", took)
}

// oneIsLate stops the last node until most of the lease is over, and has B ask
// until it gets the lock.
func oneIsLate(s *scene) outcome {
	const lease = 1500 * time.Millisecond
	key, last := s.key(), s.redis[len(s.redis)-1]
	a, b := s.g.open(s.process(), key), s.g.open(s.process(), key)
	last.Pause()
	defer time.AfterFunc(lease*4/5, last.Resume).Stop()
	defer last.Resume()
	s.takes(a, lease)
	until := believes(a, lease)
	for s.err == nil && !s.tries(b, long) {
		time.Sleep(5 * time.Millisecond)
	}
	if early := time.Until(until); early > 0 {
		return broke("B came in %s before A's lock was over, as A counts", early.Round(10*time.Millisecond))
	}
	return held("A counts from before it asked; B came in after that")
}

// believes is until when the holder of m thinks that it holds it: the locks of
// the articles say only yes, and the lease counts from there.
func believes(m mutex, lease time.Duration) time.Time {
	if m, ok := m.(interface{ Until() time.Time }); ok {
		return m.Until()
	}
	return time.Now().Add(lease)
}
