package main

import (
	"cmp"
	"slices"
	"time"

	"example.com/flashsale/loadtest/stats"
)

// A Span is one claim on its way: from the first byte sent to the last byte
// of its answer, as the client saw them.
type Span struct{ Sent, Answered time.Time }

// A Burst is what the load generator saw.
type Burst struct {
	Spans     []Span
	Verdicts  map[string]int  // accepted, sold_out, already_claimed, claim_in_progress, unexpected …
	Instances map[string]int  // answers by X-Instance
	Acked     []string        // the ids of the orders that were acknowledged
	Skews     []time.Duration // how long after the common moment each claim left
}

func newBurst() Burst { return Burst{Verdicts: map[string]int{}, Instances: map[string]int{}} }

// expected are the answers that a crowd may get.
var expected = []string{"accepted", "sold_out", "already_claimed", "claim_in_progress"}

// Unexpected counts all other answers, and those that never came.
func (b Burst) Unexpected() int {
	n := 0
	for verdict, times := range b.Verdicts {
		if !slices.Contains(expected, verdict) {
			n += times
		}
	}
	return n
}

// MaxInFlight is the largest number of claims that were under way at one
// moment.
func (b Burst) MaxInFlight() int {
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	for _, s := range b.Spans {
		edges = append(edges, edge{s.Sent, 1}, edge{s.Answered, -1})
	}
	slices.SortFunc(edges, func(x, y edge) int { return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.step, y.step)) })
	now, most := 0, 0
	for _, e := range edges {
		now += e.step
		most = max(most, now)
	}
	return most
}

// Latency is the q-quantile of the time from claim to answer.
func (b Burst) Latency(q float64) time.Duration {
	var all []time.Duration
	for _, s := range b.Spans {
		all = append(all, s.Answered.Sub(s.Sent))
	}
	return stats.Quantile(all, q)
}

// Skew is how late the last claim left.
func (b Burst) Skew() time.Duration { return stats.Quantile(b.Skews, 1) }
