package race

import (
	"slices"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/loadtest/experiments/demo"
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

// presets returns the pairs of rows of the demo that differ in one choice: the
// lock, its scope, the guards or the commit strategy. Pairs of which only the
// left side breaks a promise come first.
func presets() []Request {
	var breaking, others []Request
	rows := demo.Experiments
	for i, left := range rows {
		for _, right := range rows[i+1:] {
			switch {
			case !comparable(left, right):
			case len(left.Breaks) > 0 && len(right.Breaks) == 0:
				breaking = append(breaking, preset(left, right))
			default:
				others = append(others, preset(left, right))
			}
		}
	}
	all := append(breaking, others...)
	opening := slices.IndexFunc(all,
		func(r Request) bool { return r.Sides[0].Lock == "none" && r.Sides[1].Lock == "redis" })
	all[0], all[opening] = all[opening], all[0]
	return append(all, segmented(), articles(), suspendedHolder(), emptiedRedis())
}

// fewUsers replaces the demo's single user, who claims several coupons in turn.
// A race has one coupon, so it has several users instead, and enough stock for
// every claim: then each order beyond one for a user is a duplicate, and all the
// users are served.
var fewUsers = Workload{Users: 20, ClaimsPerUser: 10, PerUser: 1, Stock: 200, Segments: 1}

// side returns a side with a lock on two instances, which commits each claim by itself.
func side(lock, scope string, guards ...string) Settings {
	return Settings{lock, scope, guards, "each", 2, "single", defaultLease, noFault}
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

// comparable reports whether two rows have the same burst and differ in one
// choice. The races of segments are not the demo's.
func comparable(x, y demo.Experiment) bool {
	lock := x.Lock == y.Lock && (x.Lock == "none" || x.Scope == y.Scope) // no lock has no scope
	same := []bool{lock, x.Commit == y.Commit, slices.Equal(x.GuardsOff, y.GuardsOff)}
	differ := slices.DeleteFunc(same, func(same bool) bool { return same })
	return x.Script == y.Script && x.Limit == y.Limit && raced(x) && raced(y) && len(differ) == 1
}

// raced reports whether a race can have the burst of a row: it has neither retries nor
// returns, nor late releases, which are faults from outside, nor segments, of which there is
// a preset.
func raced(e demo.Experiment) bool {
	return !e.LateReleases && !e.Returned && e.Script != rig.Retried.Script && e.Segments <= 1
}

func preset(left, right demo.Experiment) Request {
	w := Workload{Users: left.Users, ClaimsPerUser: left.Each, Stock: left.Stock, Segments: 1}
	if left.Users == 1 {
		w = fewUsers
	}
	w.PerUser = max(left.Limit, 1)
	return Request{w, []Settings{sideOf(left), sideOf(right)}}
}

// sideOf returns the side of a row, with those guards that a race can be without. That of
// numbers follows from the unique key.
func sideOf(e demo.Experiment) Settings {
	possible := func(g string) bool { return slices.Contains(guards, g) }
	s := side(e.Lock, e.Scope, slices.DeleteFunc(e.Guards(), func(g string) bool { return !possible(g) })...)
	s.Commit = e.Commit
	return s
}
