package demo

import (
	"slices"

	"example.com/flashsale/loadtest/rig"
)

// A Promise is one of the three promises of a sale.
type Promise int

// The promises, as the README numbers them.
const (
	Stock   Promise = iota // I1: no more orders than stock
	OneEach                // I2: no user has two orders of a coupon
	AllSold                // I3: what is in demand is sold, and no acknowledged order is missing
)

func (p Promise) String() string { return [...]string{"I1 stock", "I2 one each", "I3 all sold"}[p] }

var promises = []Promise{Stock, OneEach, AllSold}

// An Experiment is a workload under a lock and guards, with the promises that it
// has to break. The other promises have to hold.
type Experiment struct {
	rig.Workload
	Lock, Scope, Commit string
	GuardsOff           []string // stock, unique, number, end
	Breaks              []Promise
	LateReleases        bool // releases of expired leases arrive during the burst
	Lesson              string
}

// Guards returns the guards that are in force.
func (e Experiment) Guards() []string {
	guards := []string{}
	for _, g := range []string{"stock", "unique", "number", "end"} {
		if !slices.Contains(e.GuardsOff, g) {
			guards = append(guards, g)
		}
	}
	return guards
}

// Expect returns hold or break, as in proof.json.
func (e Experiment) Expect() string {
	if len(e.Breaks) > 0 {
		return "break"
	}
	return "hold"
}

func (e Experiment) breaks(p Promise) bool { return slices.Contains(e.Breaks, p) }

// Experiments are the rows of the demo. The local mutex breaks only if the first claims of
// both instances overlap within one transaction, so that experiment has many coupons.
var Experiments = []Experiment{
	{Workload: rig.OneUser.Times(5), Lock: "none", Scope: "user", Commit: "each", GuardsOff: []string{"unique"},
		Breaks: []Promise{OneEach},
		Lesson: "Every claim that counts the user's orders before the first commit finds none and inserts one."},
	{Workload: rig.OneUser.Times(10), Lock: "local", Scope: "user", Commit: "each", GuardsOff: []string{"unique"},
		Breaks: []Promise{OneEach},
		Lesson: "A mutex (Java: synchronized) ends at its process; two instances have two mutexes."},
	{Workload: rig.OneUser.Times(5), Lock: "redis", Scope: "user", Commit: "each", GuardsOff: []string{"unique"},
		Lesson: "The distributed lock alone keeps one each: one claim of a user at a time, on whichever instance."},
	{Workload: rig.OneUser.Times(5), Lock: "redis", Scope: "user", Commit: "each", GuardsOff: []string{"unique"},
		LateReleases: true,
		Lesson:       "Releases of expired leases keep arriving; only a release that checks its owner leaves the holder's lock alone."},
	{Workload: rig.ManyUsers, Lock: "none", Scope: "user", Commit: "each", GuardsOff: []string{"stock"},
		Breaks: []Promise{Stock},
		Lesson: "Check, then act: every claim that reads the last units before they are taken gets one."},
	{Workload: rig.ManyUsers, Lock: "redis", Scope: "user", Commit: "each", GuardsOff: []string{"stock"},
		Breaks: []Promise{Stock},
		Lesson: "A lock per user does not guard the stock, because different users hold different locks."},
	{Workload: rig.ManyUsers, Lock: "redis", Scope: "coupon", Commit: "each", GuardsOff: []string{"stock"},
		Lesson: "A lock per coupon does guard the stock, but only one claim of the coupon runs at a time."},
	{Workload: rig.SevenEach, Lock: "none", Scope: "user", Commit: "each", GuardsOff: []string{"stock", "unique"},
		Breaks: []Promise{Stock, OneEach},
		Lesson: "No lock and no guards: oversold, and users with several orders."},
	{Workload: rig.SevenEach, Lock: "redis", Scope: "user", Commit: "grouped",
		Lesson: "As shipped: exactly the stock is sold, one each; claims that wait together are committed together."},
	{Workload: rig.SevenEach, Lock: "redis", Scope: "user", Commit: "each",
		Lesson: "The articles' flow with all guards: held as well; the lock keeps duplicates away from the database."},
	{Workload: rig.SevenEach, Lock: "none", Scope: "user", Commit: "each",
		Lesson: "The database alone: a conditional update and a unique key hold without a lock."},
	{Workload: rig.SevenEach, Lock: "none", Scope: "user", Commit: "optimistic",
		Lesson: "A version column as the lock: held, but every claim that lost a race has to be repeated."},
	{Workload: rig.SevenEach, Lock: "none", Scope: "user", Commit: "pessimistic",
		Lesson: "SELECT … FOR UPDATE as the lock: held, but all claims queue for the row."},
	{Workload: rig.ManyUsers.Split(16), Lock: "redis", Scope: "segment", Commit: "each", GuardsOff: []string{"stock"},
		Lesson: "The stock in 16 segments: a lock per segment guards it alone, and 16 claims of the coupon run at a time."},
	{Workload: rig.SevenEach.Split(16), Lock: "redis", Scope: "user", Commit: "grouped",
		Lesson: "As shipped, the stock in 16 segments: a claim is sold out only when all of them are empty."},
	{Workload: rig.OneUser.Times(5).UpTo(3), Lock: "none", Scope: "user", Commit: "each",
		GuardsOff: []string{"unique", "number"}, Breaks: []Promise{OneEach},
		Lesson: "Three each, by counting and then inserting: every claim that counts before the first commit counts none."},
	{Workload: rig.OneUser.Times(5).UpTo(3), Lock: "redis", Scope: "user", Commit: "each",
		GuardsOff: []string{"unique", "number"},
		Lesson:    "The distributed lock alone keeps the limit: one claim of a user counts and inserts at a time."},
	{Workload: rig.OneUser.Times(5).UpTo(3), Lock: "none", Scope: "user", Commit: "each",
		Lesson: "The number alone keeps it: the client says which of its three it claims, and the key refuses the same twice."},
	{Workload: rig.Retried, Lock: "redis", Scope: "user", Commit: "each", GuardsOff: []string{"number"},
		Breaks: []Promise{OneEach},
		Lesson: "Each wants one, loses the reply and claims again: the service counts one and gives the next. No lock stops a retry."},
	{Workload: rig.Retried, Lock: "none", Scope: "user", Commit: "each",
		Lesson: "The same with the client's number: the retry finds its own order, without a lock."},
	{Workload: rig.Returns, Lock: "redis", Scope: "user", Commit: "each", GuardsOff: []string{"end"},
		Breaks: []Promise{Stock},
		Lesson: "Read, then end: returns hold the lock, the expiry takes none. A lock guards only against those who take it."},
	{Workload: rig.Returns, Lock: "none", Scope: "user", Commit: "each",
		Lesson: "As shipped, without a lock: an order ends by one conditional statement, and of two that race one wins."},
}
