package judge

import (
	"fmt"
	"slices"
	"strings"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/shop"
	"example.com/flashsale/loadtest/verdict"
)

// A Result is what a workload has shown.
type Result struct {
	Workload
	rig.Burst
	Before, After shop.Counts
	Missing       shop.Count // orders that clients were told of
	Control       bool       // it has to break a promise
	Delayed       int        // requests of the shop to its private database
	Failure       error      // why it did not finish

	changing bool // After was not the same twice, however long that took

	sale  *shop.Sale
	users []shop.User
	dir   string // of the load generator's files
}

func (r *Result) String() string { return r.Title() }

// A Finding says whether a promise held: it did if both are empty.
type Finding struct {
	Broken  string // by how much
	Unknown string // why it cannot be known
}

func (f Finding) String() string {
	switch {
	case f.Broken != "":
		return f.Broken
	case f.Unknown != "":
		return "unknown"
	}
	return "held"
}

// NotOversold says whether there are no more orders than units, and whether no unit that was sold is left.
func (r *Result) NotOversold() Finding {
	stock, left, orders := r.Before.Stock, r.After.Stock, r.After.Orders
	over := max(0, -left.N)
	if stock.Known && orders.Known {
		over = max(over, orders.N-stock.N)
	}
	switch {
	case over > 0:
		return Finding{Broken: fmt.Sprintf("%d oversold", over)}
	case !stock.Known || !orders.Known:
		return Finding{Unknown: "no oversell: totals lack stock or orders"}
	case left.Known && left.N+orders.N > stock.N:
		return Finding{Broken: fmt.Sprintf("%d surplus", left.N+orders.N-stock.N)}
	}
	return Finding{}
}

// OneEach says whether no user has more orders than he may have: one, if the workload says
// nothing else.
func (r *Result) OneEach() Finding {
	orders, users, most, n := r.After.Orders, r.After.Users, r.After.MostPerUser, r.PerUser()
	counted := orders.Known && users.Known
	switch {
	case most.Known && most.N > n:
		return Finding{Broken: fmt.Sprintf("%d for one user", most.N)}
	case counted && orders.N > n*users.N:
		return Finding{Broken: fmt.Sprintf("%d duplicates", orders.N-n*users.N)}
	case !most.Known && n > 1:
		return Finding{Unknown: fmt.Sprintf("%d each: totals lack most_per_user", n)}
	case !most.Known && !counted:
		return Finding{Unknown: "one each: totals lack users and orders, or most_per_user"}
	}
	return Finding{}
}

// distinct returns the acknowledged claims but those whose user had been told of the same order, if he may have one or
// has claimed that number before: a shop may reply to a repeated claim as to the first.
func (r *Result) distinct() []rig.Claim {
	type told struct {
		user   int64
		number int
		order  string
	}
	seen := map[told]bool{}
	return slices.DeleteFunc(r.Acknowledged(), func(c rig.Claim) bool {
		one := told{c.User, c.Number, c.Order}
		again := seen[one] && (r.PerUser() == 1 || c.Number > 0)
		seen[one] = true
		return again
	})
}

// Kept says whether every order that a client was told of is there. Where the file does
// not say how to look for one, the number of orders has to be enough for them, and for
// all claims of which the outcome is unknown: one of their orders might stand for one
// that is missing.
func (r *Result) Kept() Finding {
	accepted, orders := len(r.distinct()), r.After.Orders
	switch {
	case r.changing:
		return Finding{Unknown: "acknowledged orders: totals still changed after the timeout, which may be longer"}
	case r.Missing.Known && r.Missing.N == accepted && accepted > 0 && orders.Known && orders.N >= accepted:
		return Finding{Unknown: "acknowledged orders: the database has as many, and none of those that clients were told of: " +
			"do order and order_ids, or order_users, name the same?"}
	case r.Missing.Known && r.Missing.N > 0:
		return Finding{Broken: fmt.Sprintf("%d missing", r.Missing.N)}
	case orders.Known && orders.N < accepted:
		return Finding{Broken: fmt.Sprintf("%d missing", accepted-orders.N)}
	case r.Missing.Known:
		return Finding{}
	case !orders.Known:
		return Finding{Unknown: "acknowledged orders: totals lack order_ids, order_users, order, and orders"}
	case orders.N-r.Verdicts()[shop.Unknown] < accepted:
		return Finding{Unknown: "acknowledged orders: totals lack order_ids, order_users and order, and some outcomes are unknown"}
	}
	return Finding{}
}

func (r *Result) findings() []Finding { return []Finding{r.NotOversold(), r.OneEach(), r.Kept()} }

// Verdict says what r has shown. A promise that cannot be known proves nothing.
func (r *Result) Verdict() verdict.Verdict {
	if r.Failure != nil {
		return verdict.Void
	}
	harmed := slices.ContainsFunc(r.findings(), func(f Finding) bool { return f.Broken != "" })
	return verdict.Of(r.Control, harmed, len(r.doubts()) == 0 && r.apart() == "")
}

// toBeRepeated reports whether another try may show more.
func (r *Result) toBeRepeated() bool {
	return r.Failure == nil && len(r.doubts()) == 0 && (r.Verdict() == verdict.Lucky || r.Verdict() == verdict.Void)
}

// minContenders is how many claims that were accepted or refused must have been in flight while the last order was
// claimed, or a third of the burst if that is less, but two: the order's own, and another.
const minContenders = 16

// decided returns the claims of which the outcome is known. The others may have met nothing but a proxy.
func (r *Result) decided() (b rig.Burst) {
	b.Claims = slices.DeleteFunc(slices.Clone(r.Claims), func(c rig.Claim) bool { return c.Verdict == shop.Unknown })
	return b
}

// apart returns why the claims of r were not in the way of each other, or a limit in the way of
// none. It is empty if they were.
func (r *Result) apart() string {
	met := r.decided().Contenders(r.BurstSize())
	switch {
	case len(r.Acknowledged()) == 0:
		return "all claims were refused" + because(details(r.Claims, shop.Refused))
	case r.Verdicts()[shop.Refused] == 0 && len(r.distinct()) == len(r.Acknowledged()):
		return "no claim was read as refused, so none met a limit" + because(details(r.Claims, shop.Unknown))
	case r.Wanted() > r.Stock && r.unsold() > 0:
		return "the units were not sold out, so no claim met the limit of the stock: a workload of the file may have fewer"
	case !r.Open && met < max(2, min(minContenders, (r.BurstSize()+2)/3)):
		return fmt.Sprintf("only %d claims were in flight while the last order was claimed", met)
	}
	return ""
}

const tooManyRequests = "status 429"

// doubts returns the reasons why r proves nothing, however often it is repeated.
func (r *Result) doubts() (doubts []string) {
	if n := len(r.Claims); n != r.BurstSize() {
		doubts = append(doubts, fmt.Sprintf("%d of %d claims were sent", n, r.BurstSize()))
	}
	if d := r.Limit.Delay; d > 0 && r.Delayed < r.BurstSize() {
		doubts = append(doubts, fmt.Sprintf("only %d requests to the database were delayed", r.Delayed))
	}
	doubts = append(doubts, r.rateLimit()...)
	if len(r.Acknowledged()) == 0 && r.Verdicts()[shop.Refused] < len(r.Claims) {
		doubts = append(doubts, "no claim was accepted"+because(details(r.Claims, shop.Unknown)))
	}
	for _, f := range r.findings() {
		if f.Unknown != "" {
			doubts = append(doubts, f.Unknown)
		}
	}
	return doubts
}

// rateLimit says that claims were refused by a rate limit, if some were.
func (r *Result) rateLimit() []string {
	limited := 0
	for _, c := range r.Claims {
		if short, _ := reason(c); c.Verdict == shop.Unknown && short == tooManyRequests {
			limited++
		}
	}
	if limited == 0 {
		return nil
	}
	return []string{fmt.Sprintf("a rate limit is on: %d of %d claims got 429 Too Many Requests; of the shop or before it: switch it off for this load (our own service: USER_RATE=0, and no limits in nginx)",
		limited, len(r.Claims))}
}

func because(reasons []string) string {
	if len(reasons) == 0 {
		return ""
	}
	return ": " + strings.Join(reasons[:min(3, len(reasons))], ", ")
}

// Reasons says why r did not come out as it must.
func (r *Result) Reasons() []string {
	switch {
	case r.Failure != nil:
		return append(r.rateLimit(), "did not finish: "+r.Failure.Error()) // it may refuse the counting, too
	case r.Verdict() == verdict.Lucky:
		return []string{"had to break a promise and did not"}
	case r.Verdict() != verdict.Void:
		return nil
	case len(r.doubts()) > 0:
		return r.doubts()
	}
	return []string{r.apart()}
}

func verdicts(results []*Result) (all []verdict.Verdict) {
	for _, r := range results {
		all = append(all, r.Verdict())
	}
	return all
}
