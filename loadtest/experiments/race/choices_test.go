package race

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/loadtest/experiments/race/page"
	"example.com/flashsale/loadtest/verdict"
)

// The page offers the locks of package driver, which LOCK takes as well. Each has a
// name in both languages.
func TestEveryLockOfTheServiceHasAName(t *testing.T) {
	t.Parallel()
	texts, err := page.Files.ReadFile("strings.js")
	check.NoError(t, err)
	for _, name := range slices.Concat(locks, commits, faults) {
		if n := len(regexp.MustCompile(`[{ ]`+name+`: '`).FindAll(texts, -1)); n < 2 {
			t.Errorf("%s has %d names", name, n)
		}
	}
}

// Each lock must keep one order for each user without the unique key, on two
// instances, except none and local. The sections show why. Those that need no servers beside
// MySQL and one Redis are left to the tests of cmd/api.
func TestLocksRace(t *testing.T) {
	t.Parallel()
	c := start(t, stack(t))
	for _, sides := range [][]Settings{
		{{Lock: "none"}, {Lock: "redlock"}}, {{Lock: "local"}, {Lock: "redis", Redis: "cluster"}},
		{{Lock: "zk"}, {Lock: "etcd"}, {Lock: "memcache"}},
	} {
		for i := range sides {
			topology := sides[i].Redis
			sides[i] = side(sides[i].Lock, "user", "stock")
			sides[i].Redis = cmp.Or(topology, "single")
		}
		request := Request{Workload{Users: 20, ClaimsPerUser: 10, PerUser: 1, Stock: 200, Segments: 1}, sides}
		r := c.race(request)
		for n := 1; n < attempts && showsNothing(r); n++ {
			r = c.race(request)
		}
		if len(r.Sides) != len(sides) {
			t.Errorf("%d sides, want %d", len(r.Sides), len(sides))
		}
		for _, side := range r.Sides {
			checkLock(t, side)
		}
	}
}

// attempts bounds how often a race that shows nothing is repeated.
const attempts = 5

// showsNothing reports whether a side that has to break did not: that two
// transactions overlap is likely, not certain. It also reports whether a user was not
// served, as on a machine that is too busy for the time-outs of ten claims.
func showsNothing(r Race) bool {
	return slices.ContainsFunc(r.Sides, func(s Side) bool {
		return !excludes(s.Settings) && s.Counts.Duplicates == 0 || s.Counts.DistinctUsers < r.Workload.Users
	})
}

func excludes(s Settings) bool { return s.Lock != "none" && s.Lock != "local" }

func checkLock(t *testing.T, side Side) {
	t.Helper()
	excludes := excludes(side.Settings)
	if excludes != (side.Counts.Duplicates == 0) || excludes != (side.Counts.Overlaps == 0) {
		t.Errorf("%+v: %+v", side.Settings, side.Counts)
	}
	codes := side.Counts.Codes
	answered := side.Counts.Accepted + codes["already_claimed"] + codes["claim_in_progress"] + codes["unavailable"]
	if answered != 200 || side.Counts.DistinctUsers != 20 {
		t.Errorf("%+v: %d users served, codes %v", side.Settings, side.Counts.DistinctUsers, codes)
	}
}

// What a race says, by the rig's SQL, must be what the service says of itself, by its own,
// and what its clients were told.
func TestEveryCountIsWhatTheDatabaseHas(t *testing.T) {
	t.Parallel()
	c := start(t, stack(t))
	w := Workload{Users: 30, ClaimsPerUser: 5, PerUser: 1, Stock: 20, Segments: 1}
	three := side("redis", "user", "stock", "unique").by("grouped")
	three.Instances = 3
	c.auditSide(w, three)
	c.auditSide(w, side("none", "user"))
	c.auditSide(w, side("redis", "coupon", "unique"))
	w.PerUser = 3
	c.auditSide(w, side("none", "user", "stock"))
	w.Segments = 4
	c.auditSide(w, side("redis", "segment", "unique"))
}

// auditSide runs one side and compares its counts.
func (c *client) auditSide(w Workload, s Settings) {
	c.t.Helper()
	ctx := c.t.Context()
	v, err := c.session.startService(ctx, s, w)
	check.NoError(c.t, err)
	defer func() {
		if err := v.stop(); err != nil {
			c.t.Error(err)
		}
	}()
	l := newLive(Race{Workload: w, Sides: []Side{newSide(s), newSide(s)}})
	check.NoError(c.t, c.session.runSide(ctx, l, 0, v))
	side, acknowledged := l.snapshot().Sides[0], 0
	for _, claim := range side.Claims {
		if claim.Answered < claim.Sent || claim.Status == 0 {
			c.t.Errorf("claim %+v", claim)
		}
		if claim.Order != "" {
			acknowledged++
		}
	}
	var own struct {
		Orders, Stock        int
		Duplicates, Oversold int
		Users                int `json:"distinct_users"`
	}
	n := side.Counts
	if err := json.Unmarshal(side.Audit, &own); err != nil || own.Orders != n.Orders || own.Stock != n.Stock ||
		own.Duplicates != n.Duplicates || own.Oversold != n.Oversold || own.Users != n.DistinctUsers {
		c.t.Errorf("%+v: counts %+v; the service's audit is %s: %v", s, n, side.Audit, err)
	}
	if n.Orders == 0 || n.Orders != acknowledged || n.Accepted != acknowledged || n.AckedMissing > 0 {
		c.t.Errorf("%+v: counts %+v, %d acknowledged", s, n, acknowledged)
	}
	last := side.Samples[len(side.Samples)-1]
	if last.Stock != n.Stock || last.Orders != n.Orders || last.InFlight != 0 {
		c.t.Errorf("%+v: the last sample is %+v", s, last)
	}
	if len(v.Instances) != s.Instances || len(side.Claims) != w.Claims() {
		c.t.Errorf("%+v: %d claims, %d instances", s, len(side.Claims), len(v.Instances))
	}
	for _, promise := range side.Promises {
		if promise.Verdict == verdict.Wrong {
			c.t.Errorf("%+v: %+v", s, promise)
		}
	}
}
