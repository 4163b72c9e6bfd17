package generations

import (
	"context"
	"errors"
	"time"
)

var errUnreachable = errors.New("the server is unreachable")

// loseRenewal fails one renewal of A, which works for three leases.
func loseRenewal(s *scenario) outcome {
	var lost context.Context
	fault := errUnreachable
	o := s.workThreeLeases(func(p *process) {
		lost = p.injectBefore(1, "loses its request,", func() (err error) { err, fault = fault, nil; return err })
	})
	if lost.Err() == nil {
		s.check(errors.New("no renewal was sent"))
	}
	return o
}

// loseRenewals fails all renewals of A. B tries until it locks.
func loseRenewals(s *scenario) outcome {
	const lease = time.Second
	a, b := s.newProcess(), s.newProcess()
	s.lock(a, lease)
	a.injectBefore(1, "is cut off from the server", func() error { return errUnreachable })
	s.lockWithin(b, lease, longLease)
	if l := a.acquired(); l != nil && l.Err() != nil {
		return held("A knew of its loss before B locked")
	}
	return broke("B locked, and nothing has told A")
}

// renewAfterExpiry ends A's lease under its renewals. B locks and crashes. C tries to
// lock for three leases.
func renewAfterExpiry(s *scenario) outcome {
	const lease = time.Second
	a, b, c := s.newProcess(), s.newProcess(), s.newProcess()
	s.lock(a, lease)
	s.expireLease()
	s.lock(b, lease)
	b.crashBefore(1)
	if took, locked := s.lockWithin(c, lease, 3*lease); locked {
		return held("C locked %.1f leases after B's crash", took.Seconds()/lease.Seconds())
	}
	return broke("A renews the lock that B died with: C is refused for 3 leases")
}
