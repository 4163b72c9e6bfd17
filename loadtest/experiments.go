package main

import (
	"slices"
	"strings"
)

// A Promise is one of the three things that a sale must keep.
type Promise int

// The promises, as the README names them.
const (
	Stock   Promise = iota // I1: no more orders than stock
	OneEach                // I2: no user has two
	AllSold                // I3: nothing unsold that was asked for, no acknowledged order missing
)

func (p Promise) String() string { return [...]string{"I1 stock", "I2 one each", "I3 all sold"}[p] }

var promises = []Promise{Stock, OneEach, AllSold}

// A Workload is who claims how much of what at the same moment.
type Workload struct {
	Script string // k6's, without .js
	Users  int
	Each   int // simultaneous claims of each user
	Stock  int // of each coupon
	Rounds int // bursts, each on a coupon of its own
}

var (
	oneUser   = Workload{Script: "one-user", Users: 1, Each: 666, Stock: 100, Rounds: 1}
	manyUsers = Workload{Script: "many-users", Users: 666, Each: 1, Stock: 100, Rounds: 1}
	sevenEach = Workload{Script: "seven-each", Users: 100, Each: 7, Stock: 50, Rounds: 1}
)

// times repeats the burst on n coupons.
func (w Workload) times(n int) Workload {
	w.Rounds = n
	return w
}

// AtOnce is how many claims a burst has, Requests how many all have.
func (w Workload) AtOnce() int   { return w.Users * w.Each }
func (w Workload) Requests() int { return w.AtOnce() * w.Rounds }

// An Experiment is a workload under a lock and guards, and what must come of it.
type Experiment struct {
	Workload
	Lock, Scope, Commit string
	Off                 []string  // guards taken away: stock, unique
	Breaks              []Promise // the others must hold
	Stale               bool      // late releases arrive during the burst (see stale.go)
	Lesson              string
}

// Guards are those left in force.
func (e Experiment) Guards() []string {
	left := []string{}
	for _, g := range []string{"stock", "unique"} {
		if !slices.Contains(e.Off, g) {
			left = append(left, g)
		}
	}
	return left
}

// Expect is what proof.json calls it.
func (e Experiment) Expect() string {
	if len(e.Breaks) > 0 {
		return "break"
	}
	return "hold"
}

func (e Experiment) breaks(p Promise) bool { return slices.Contains(e.Breaks, p) }

// The local mutex breaks only when the first claims of both instances overlap
// within one transaction's time, so it gets many coupons to do it on.
var experiments = []Experiment{
	{Workload: oneUser.times(5), Lock: "none", Scope: "user", Commit: "each", Off: []string{"unique"}, Breaks: []Promise{OneEach},
		Lesson: "Everybody who counts before the first commit finds no order yet, and buys."},
	{Workload: oneUser.times(10), Lock: "local", Scope: "user", Commit: "each", Off: []string{"unique"}, Breaks: []Promise{OneEach},
		Lesson: "A mutex (Java: synchronized) ends at its process; two instances are two mutexes."},
	{Workload: oneUser.times(5), Lock: "redis", Scope: "user", Commit: "each", Off: []string{"unique"},
		Lesson: "The distributed lock alone keeps one each: one claim of a user at a time, wherever it arrives."},
	{Workload: oneUser.times(5), Lock: "redis", Scope: "user", Commit: "each", Off: []string{"unique"}, Stale: true,
		Lesson: "Late releases of expired leases rain on the lock; only a release that checks its owner spares the holder."},
	{Workload: manyUsers, Lock: "none", Scope: "user", Commit: "each", Off: []string{"stock"}, Breaks: []Promise{Stock},
		Lesson: "Check, then act: everybody who reads the last coupons before they are taken gets one."},
	{Workload: manyUsers, Lock: "redis", Scope: "user", Commit: "each", Off: []string{"stock"}, Breaks: []Promise{Stock},
		Lesson: "The lesson: a lock per user does not guard the stock, because different users hold different locks."},
	{Workload: manyUsers, Lock: "redis", Scope: "coupon", Commit: "each", Off: []string{"stock"},
		Lesson: "A lock per coupon does guard it, at the price of one claim at a time for everybody."},
	{Workload: sevenEach, Lock: "none", Scope: "user", Commit: "each", Off: []string{"stock", "unique"}, Breaks: []Promise{Stock, OneEach},
		Lesson: "No lock, no guards: oversold, and several for one user."},
	{Workload: sevenEach, Lock: "redis", Scope: "user", Commit: "grouped",
		Lesson: "As shipped: exactly the stock is sold, one each; claims that wait together are committed together."},
	{Workload: sevenEach, Lock: "redis", Scope: "user", Commit: "each",
		Lesson: "The articles' flow, all guards on: right as well; the lock spares the database the duplicates."},
	{Workload: sevenEach, Lock: "none", Scope: "user", Commit: "each",
		Lesson: "What the database alone gives: a conditional update and a unique key need no lock to be right."},
	{Workload: sevenEach, Lock: "none", Scope: "user", Commit: "optimistic",
		Lesson: "A version column as the lock: right, and paid for by repeating whatever came second."},
	{Workload: sevenEach, Lock: "none", Scope: "user", Commit: "pessimistic",
		Lesson: "SELECT … FOR UPDATE as the lock: right, and everybody queues for the row."},
}

// settings are e's, as the instances read them. Every one that matters is
// set, so that nothing comes from the caller's environment.
func (e Experiment) settings() []string {
	return []string{
		"LAB=true", "GUARDS_OFF=" + strings.Join(e.Off, ","),
		"LOCK=" + e.Lock, "LOCK_SCOPE=" + e.Scope, "COMMIT=" + e.Commit,
		"LOCK_WAIT=50s", "CLAIM_TIMEOUT=55s", // a crowd that waits for one coupon's lock waits for 666 commits
	}
}
