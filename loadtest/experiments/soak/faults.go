package soak

import "time"

// faultTime is longer than every timeout of an instance, so that nothing may
// wait for the fault to heal.
const faultTime = max(claimTimeout, lockTTL) + 2*time.Second

// listFaults returns all faults. A short run has only the first of them, which
// therefore differ most.
func (r *run) listFaults() []fault {
	a, b := r.a, r.b
	return []fault{
		partition(a, b, "MySQL, before a COMMIT", beforeCommit(a)),
		kill("Redis killed, back empty", r.stack.Redis.Server),
		r.lockedCoupon(a),
		r.crowd(b),
		r.suspend(b, a),
		killInstance(a),
		partition(b, a, "Redis", atOnce(b.redis)),
		r.firstStarts(),
		r.longFlush(),
		r.crowd(a),
		kill("database killed", r.stack.MySQL.Server),

		partition(b, a, "MySQL, after a COMMIT", afterCommit(b)),
		r.drain(a),
		r.suspend(a, b),
		killInstance(b),
		r.readLock(),
		r.crowd(b),
		partition(a, b, "Redis", atOnce(a.redis)),
		r.drain(b),
		r.drainPartitioned(a),
		killInstance(b),
		r.drainPartitioned(b),
		r.crowd(a),
		killInstance(a),
	}
}
