package rig

import (
	"cmp"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/stats"
)

// A Burst is what a load generator saw of the claims of a workload.
type Burst struct{ Claims []Claim }

// A Sample is a request as a load generator recorded it, with what its script or plan adds,
// by name. Of its claim only the times and the instance are set.
type Sample struct {
	Claim
	Values map[string]string
}

// burstOf returns the claims of samples, once read has set what a reply says.
func burstOf(samples []Sample, read func(*Claim, map[string]string)) (b Burst) {
	for _, s := range samples {
		s.User, _ = strconv.ParseInt(s.Values["user"], 10, 64) // 0 is no user
		read(&s.Claim, s.Values)
		b.Claims = append(b.Claims, s.Claim)
	}
	return b
}

// A Claim is one claim and the reply to it.
type Claim struct {
	User, Coupon   int64     // 0 if they are not known
	Number         int       // which of the user's orders of the coupon; 0 is the first
	Due            time.Time // when the model of a load wanted it to be sent, if it has one
	Sent, Received time.Time // the first byte of the claim and the last byte of its reply, as the client saw them
	Verdict        string    // accepted, the code of a refusal, or one after which the outcome is unknown
	Order          string    // the id that the reply names
	Instance       string    // X-Instance of the reply
	Detail         string    // why the outcome is unknown, if a load generator says so
}

// Took returns the time from the first byte of the claim to its reply.
func (c Claim) Took() time.Duration { return max(0, c.Received.Sub(c.Sent)) }

// Accepted is the verdict on a claim that has an order, Returned that on a return. The outcome of the others
// is unknown: of those with status 503, those without a reply or with another
// status from 500 on, and those of which a load generator does not say more. All
// other verdicts are the code of a refusal.
const (
	Accepted    = "accepted"
	Returned    = "returned" // an order has been given back
	Unavailable = "unavailable"
	Overloaded  = "overloaded"
	Lost        = "lost"
	Unexpected  = "unexpected"
)

// VerdictOf returns the verdict of a reply with that status, and that code of a problem. Status 0
// is no reply.
func VerdictOf(status int, code string) string {
	switch {
	case status == http.StatusCreated:
		return Accepted
	case status == http.StatusServiceUnavailable:
		return cmp.Or(code, Unavailable)
	case status == 0 || status >= http.StatusInternalServerError:
		return Lost
	}
	return cmp.Or(code, strconv.Itoa(status))
}

// failures are the verdicts on a claim whose outcome is unknown.
var failures = []string{Unavailable, Overloaded, Lost, Unexpected}

// Failed reports whether the outcome of the claim is unknown.
func (c Claim) Failed() bool { return slices.Contains(failures, c.Verdict) }

// Failed counts the claims whose outcome is unknown.
func (b Burst) Failed() int { return b.Replies(failures...) }

// Refusals are the codes that a claim in a burst may be refused with.
var Refusals = []string{"sold_out", "already_claimed", "limit_reached", "claim_in_progress", "order_expired"}

// Verdicts counts the claims by verdict.
func (b Burst) Verdicts() map[string]int { return b.count(func(c Claim) string { return c.Verdict }) }

// Instances counts the claims by the instance that replied.
func (b Burst) Instances() map[string]int { return b.count(func(c Claim) string { return c.Instance }) }

func (b Burst) count(key func(Claim) string) map[string]int {
	n := map[string]int{}
	for _, c := range b.Claims {
		n[key(c)]++
	}
	return n
}

// Replies returns how many claims got one of the verdicts.
func (b Burst) Replies(verdicts ...string) (n int) {
	for _, c := range b.Claims {
		if slices.Contains(verdicts, c.Verdict) {
			n++
		}
	}
	return n
}

// Times returns a time of each claim that got the verdict, or of all if none is
// named.
func (b Burst) Times(of func(Claim) time.Duration, verdicts ...string) (times []time.Duration) {
	for _, c := range b.Claims {
		if len(verdicts) == 0 || slices.Contains(verdicts, c.Verdict) {
			times = append(times, of(c))
		}
	}
	return times
}

// Acknowledged returns the claims that were accepted.
func (b Burst) Acknowledged() (accepted []Claim) {
	for _, c := range b.Claims {
		if c.Verdict == Accepted {
			accepted = append(accepted, c)
		}
	}
	return accepted
}

// Unexpected counts the claims that were neither accepted nor refused. Claims
// without a reply are among them.
func (b Burst) Unexpected() int {
	return len(b.Claims) - b.Replies(append([]string{Accepted, Returned}, Refusals...)...)
}

// MaxInFlight returns the largest number of claims that were in flight at one
// moment.
func (b Burst) MaxInFlight() int {
	type edge struct {
		time  time.Time
		delta int
	}
	var edges []edge
	for _, c := range b.Claims {
		edges = append(edges, edge{c.Sent, 1}, edge{c.Received, -1})
	}
	slices.SortFunc(edges,
		func(x, y edge) int { return cmp.Or(x.time.Compare(y.time), cmp.Compare(x.delta, y.delta)) })
	inFlight, highest := 0, 0
	for _, e := range edges {
		inFlight += e.delta
		highest = max(highest, inFlight)
	}
	return highest
}

// Contenders returns how many claims were in flight while the last order of their
// round was claimed, the one that got it among them: with nothing between them, each
// could have found the unit that was left, or no order of its user. More than half of
// the rounds had so many. A round has size claims.
func (b Burst) Contenders(size int) int {
	var rounds []int
	for round := range b.rounds(size) {
		met := 0 // nobody met an order that there is not
		if last, found := lastOrder(round); found {
			met = overlapping(round, last)
		}
		rounds = append(rounds, met)
	}
	if len(rounds) == 0 {
		return 0
	}
	slices.Sort(rounds)
	return rounds[(len(rounds)-1)/2]
}

// lastOrder returns the claim of a round that got the last order, or false if none did.
func lastOrder(round []Claim) (last Claim, found bool) {
	for _, c := range round {
		if (c.Verdict == Accepted || c.Verdict == Returned) && !c.Received.Before(last.Received) {
			last, found = c, true
		}
	}
	return last, found
}

// overlapping counts the claims that overlap one of them.
func overlapping(claims []Claim, one Claim) (n int) {
	for _, c := range claims {
		if c.Sent.Before(one.Received) && c.Received.After(one.Sent) {
			n++
		}
	}
	return n
}

// Latency returns the q-quantile of the time from claim to reply.
func (b Burst) Latency(q float64) time.Duration { return stats.Quantile(b.Times(Claim.Took), q) }

// Skew returns how long after the first claim of its round the last one of any was sent.
func (b Burst) Skew(size int) (longest time.Duration) {
	for round := range b.rounds(size) {
		longest = max(longest, round[len(round)-1].Sent.Sub(round[0].Sent))
	}
	return longest
}

// rounds returns the claims of each round, which are size, as they were sent.
func (b Burst) rounds(size int) iter.Seq[[]Claim] {
	bySending := func(x, y Claim) int { return x.Sent.Compare(y.Sent) }
	return slices.Chunk(slices.SortedStableFunc(slices.Values(b.Claims), bySending), size)
}
