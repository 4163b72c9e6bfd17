package race

import (
	"slices"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lock/driver"
	"example.com/flashsale/loadtest/experiments/demo"
	"example.com/flashsale/loadtest/rig"
)

var (
	locks        = slices.Concat([]string{"none", "local"}, driver.Remote)
	scopes       = []string{"user", "coupon"}
	guards       = []string{"stock", "unique"}
	commits      = rig.Commits
	maxInstances = 4
	limits       = Limits{Users: 5000, Claims: 20000, Stock: 100000, PauseMS: 2000}
)

func (s *session) options() Options {
	o := Options{
		Locks: locks, Scopes: scopes, Guards: guards, Commits: commits, Redis: lab.Topologies,
		Limits: limits, Presets: presets(), Environment: s.environment,
	}
	for n := range maxInstances {
		o.Instances = append(o.Instances, n+1)
	}
	return o
}

// presets returns the pairs of rows of the demo that differ in one choice: the
// lock, its scope, the guards or the commit strategy. Pairs of which only the
// left side breaks a promise come first.
func presets() []Preset {
	var breaking, others []Preset
	rows := demo.Experiments()
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
		func(p Preset) bool { return p.Sides[0].Lock == "none" && p.Sides[1].Lock == "redis" })
	all[0], all[opening] = all[opening], all[0]
	for i := range all {
		all[i].Name, all[i].NameZH = all[i].title(english), all[i].title(chinese)
	}
	return all
}

// fewUsers replaces the demo's single user, who claims several coupons in turn.
// A race has one coupon, so it has several users instead.
var fewUsers = Workload{Users: 20, ClaimsPerUser: 20, Stock: 50}

// comparable reports whether two rows have the same burst and differ in one
// choice. A race has no late releases, which are faults from outside, and its
// coupon's stock is in one row.
func comparable(x, y demo.Experiment) bool {
	if x.Script != y.Script || x.LateReleases || y.LateReleases || x.Segments > 1 || y.Segments > 1 {
		return false
	}
	differ := 0
	for _, same := range []bool{english.lock(settingsOf(x)) == english.lock(settingsOf(y)), x.Commit == y.Commit,
		slices.Equal(x.GuardsOff, y.GuardsOff)} {
		if !same {
			differ++
		}
	}
	return differ == 1
}

func preset(left, right demo.Experiment) Preset {
	w := Workload{Users: left.Users, ClaimsPerUser: left.Each, Stock: left.Stock}
	if left.Users == 1 {
		w = fewUsers
	}
	return Preset{
		Lessons: [2]string{left.Lesson, right.Lesson},
		Request: Request{
			Workload: w,
			Sides:    [2]Settings{settingsOf(left), settingsOf(right)},
		},
	}
}

func settingsOf(e demo.Experiment) Settings {
	return Settings{Lock: e.Lock, LockScope: e.Scope, Guards: e.Guards(), Commit: e.Commit, Instances: 2,
		Redis: "single"}
}
