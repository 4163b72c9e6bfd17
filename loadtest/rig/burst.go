package rig

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"example.com/flashsale/loadtest/stats"
)

// A Burst is what a load generator saw of the claims of a workload.
type Burst struct {
	Spans  []Span
	Claims []Claim
	Skews  []time.Duration // how long after the common moment each claim was sent
}

// A Span lasts from the first byte of a claim to the last byte of its reply, as
// the client saw them.
type Span struct{ Sent, Received time.Time }

// A Claim is one claim and the reply to it.
type Claim struct {
	User, Coupon   int64 // 0 if they are not known
	Sent, Received time.Time
	Verdict        string // accepted, the code of a refusal, or one after which the outcome is unknown
	Order          string // the id that the reply names
	Instance       string // X-Instance of the reply
	Detail         string // why the outcome is unknown, if a load generator says so
}

// Accepted is the verdict on a claim that has an order. The outcome of the others
// is unknown: of those with status 503, those without a reply or with another
// status from 500 on, and those of which a load generator does not say more. All
// other verdicts are the code of a refusal.
const (
	Accepted    = "accepted"
	Unavailable = "unavailable"
	Overloaded  = "overloaded"
	Lost        = "lost"
	Unexpected  = "unexpected"
)

// Failed reports whether the outcome of the claim is unknown.
func (c Claim) Failed() bool {
	return slices.Contains([]string{Unavailable, Overloaded, Lost, Unexpected}, c.Verdict)
}

// Refusals are the codes that a claim in a burst may be refused with.
var Refusals = []string{"sold_out", "already_claimed", "claim_in_progress"}

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
	n := 0
	for _, c := range b.Claims {
		if c.Verdict != Accepted && !slices.Contains(Refusals, c.Verdict) {
			n++
		}
	}
	return n
}

// MaxInFlight returns the largest number of claims that were in flight at one
// moment.
func (b Burst) MaxInFlight() int { return maxInFlight(b.Spans) }

// Contenders returns the largest number of claims that were in flight at one moment
// while the outcome of their round was open: until the last reply with an order. It
// is that of the round with the fewest. A round has size claims.
func (b Burst) Contenders(size int) int {
	fewest := len(b.Spans)
	for round := range b.rounds(size) {
		last := lastReply(round)
		if replies := b.accepted(round); len(replies) > 0 {
			last = slices.MaxFunc(replies, time.Time.Compare)
		}
		open := slices.DeleteFunc(round, func(s Span) bool { return !s.Sent.Before(last) })
		fewest = min(fewest, maxInFlight(open))
	}
	return fewest
}

// FewestAccepted returns how many claims of a round were accepted at least. A round
// has size claims.
func (b Burst) FewestAccepted(size int) int {
	fewest := len(b.Spans)
	for round := range b.rounds(size) {
		fewest = min(fewest, len(b.accepted(round)))
	}
	return fewest
}

func (b Burst) rounds(size int) iter.Seq[[]Span] {
	spans := slices.SortedFunc(slices.Values(b.Spans), func(x, y Span) int { return x.Sent.Compare(y.Sent) })
	return slices.Chunk(spans, size)
}

func lastReply(round []Span) time.Time {
	return slices.MaxFunc(round, func(x, y Span) int { return x.Received.Compare(y.Received) }).Received
}

// accepted returns when the orders of a round were acknowledged.
func (b Burst) accepted(round []Span) (replies []time.Time) {
	begin, end := round[0].Sent, lastReply(round)
	for _, c := range b.Claims {
		if c.Verdict == Accepted && c.Received.After(begin) && !c.Received.After(end) {
			replies = append(replies, c.Received)
		}
	}
	return replies
}

func maxInFlight(spans []Span) int {
	type edge struct {
		time  time.Time
		delta int
	}
	var edges []edge
	for _, s := range spans {
		edges = append(edges, edge{s.Sent, 1}, edge{s.Received, -1})
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

// Latency returns the q-quantile of the time from claim to reply.
func (b Burst) Latency(q float64) time.Duration {
	var all []time.Duration
	for _, s := range b.Spans {
		all = append(all, s.Received.Sub(s.Sent))
	}
	return stats.Quantile(all, q)
}

// Skew returns how long after the common moment the last claim was sent.
func (b Burst) Skew() time.Duration { return stats.Quantile(b.Skews, 1) }
