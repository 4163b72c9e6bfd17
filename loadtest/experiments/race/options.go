package race

import (
	"slices"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/loadtest/rig"
)

var (
	locks     = slices.Concat([]string{"none", "local"}, drivers.Remote)
	scopes    = []string{"user", "coupon", "segment"}
	guards    = []string{"stock", "unique"}
	commits   = rig.Commits
	instances = []int{1, 2, 3, 4}
	leases    = []int{1000, 2000, 5000, defaultLease}
	limits    = Limits{
		Sides: 4, Users: 5000, Claims: 20000, PerUser: 100, Stock: 100000, Segments: 64, PauseMS: 2000,
	}
)

func (s *session) options() Options {
	return Options{
		Locks: locks, Scopes: scopes, Guards: guards, Commits: commits, Instances: instances, Redis: lab.Topologies,
		Leases: leases, Faults: faults, Limits: limits, Presets: presets(),
		Environment: s.environment,
	}
}

// The workloads of the demo, of which that of one user has more users here: he claims several
// coupons in turn, and a race has one coupon. There is stock for every claim, so that each
// order beyond one for a user is a duplicate, and all users are served.
var (
	fewUsers  = Workload{Users: 20, ClaimsPerUser: 10, PerUser: 1, Stock: 200, Segments: 1}
	threeEach = Workload{Users: 20, ClaimsPerUser: 10, PerUser: 3, Stock: 200, Segments: 1}
	manyUsers = Workload{Users: 666, ClaimsPerUser: 1, PerUser: 1, Stock: 100, Segments: 1}
	sevenEach = Workload{Users: 100, ClaimsPerUser: 7, PerUser: 1, Stock: 50, Segments: 1}
)

// presets returns races of rows of the demo that differ in one choice, and those that the
// demo has not. The page opens with the first.
func presets() []Request {
	none, redis := side("none", "user", guards...), side("redis", "user", guards...)
	return []Request{
		{fewUsers, []Settings{side("none", "user", "stock"), side("redis", "user", "stock")}},
		{fewUsers, []Settings{side("local", "user", "stock"), side("redis", "user", "stock")}},
		{manyUsers, []Settings{side("none", "user", "unique"), side("redis", "user", "unique")}},
		{manyUsers, []Settings{side("redis", "user", "unique"), side("redis", "coupon", "unique")}},
		{sevenEach, []Settings{side("none", "user"), none}},
		{threeEach, []Settings{side("none", "user", "stock"), side("redis", "user", "stock")}},
		{threeEach, []Settings{side("none", "user", "stock"), none}},
		{sevenEach, []Settings{redis, redis.by("grouped")}},
		{sevenEach, []Settings{none, redis}},
		{sevenEach, []Settings{none, none.by("optimistic"), none.by("pessimistic")}},
		segmented(), articles(), suspendedHolder(), emptiedRedis(),
	}
}

// side returns a side with a lock on two instances, which commits each claim by itself.
func side(lock, scope string, guards ...string) Settings {
	guards = append([]string{}, guards...) // no null in JSON
	return Settings{lock, scope, guards, "each", 2, "single", defaultLease, noFault}
}

// by returns s with another commit strategy.
func (s Settings) by(commit string) Settings {
	s.Commit = commit
	return s
}

// segmented returns the race of a lock per coupon and one per segment of its stock.
func segmented() Request {
	w := Workload{Users: 400, ClaimsPerUser: 1, PerUser: 1, Stock: 160, Segments: 16}
	return Request{w, []Settings{side("redis", "coupon", "unique"), side("redis", "segment", "unique")}}
}

// articles returns the race of the locks of the articles: none, the mutex of one
// process, Redis and ZooKeeper.
func articles() Request {
	r := Request{Workload: fewUsers}
	for _, l := range []string{"none", "local", "redis", "zk"} {
		r.Sides = append(r.Sides, side(l, "user", "stock"))
	}
	return r
}

// suspendedHolder returns the race of a lease that ends while its holder is suspended,
// and a lock that its holder's connection keeps.
func suspendedHolder() Request {
	r := Request{Workload: Workload{Users: 8, ClaimsPerUser: 1, PerUser: 1, Stock: 8, Segments: 1, PauseMS: 200}}
	for _, l := range []string{"redis", "getlock"} {
		s := side(l, "coupon", guards...)
		s.LeaseMS, s.Fault = 1000, suspended
		r.Sides = append(r.Sides, s)
	}
	return r
}

// emptiedRedis returns the race of a lock on a Redis that forgets it, and the same
// without a fault. A waiter whose subscription was lost asks after half a second, and
// a holder hears at its next extension, after a third of its lease: a section longer
// than the one, and shorter than the other, shows both in it.
func emptiedRedis() Request {
	r := Request{Workload: Workload{Users: 4, ClaimsPerUser: 1, PerUser: 1, Stock: 4, Segments: 1, PauseMS: 800}}
	for _, f := range []string{emptied, noFault} {
		s := side("redis", "coupon", guards...)
		s.LeaseMS, s.Fault = 3000, f
		r.Sides = append(r.Sides, s)
	}
	return r
}

// defaultLease is the service's LOCK_TTL, in milliseconds.
const defaultLease = 30000
