package bench

import (
	"slices"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/stats"
)

// A headline is a figure that has a limit. A ratio is to what was measured just before.
type headline struct {
	name, figure    string
	atLeast, atMost float64 // one of them
}

var headlines = []headline{
	{"CPU of all processes for a claim behind nginx (µs)", "Claim/nginx/all-µs", 0, 100},
	{"claims/s behind nginx, of an empty handler's there", "Claim/nginx/rate-ratio", 0.45, 0},
	{"CPU of all processes for a claim, directly (µs)", "Claim/direct/all-µs", 0, 80},
	{"CPU of the service for a claim, of an empty handler's", "Claim/direct/service-ratio", 0, 2.8},
	{"claims/s directly, of an empty handler's", "Claim/direct/rate-ratio", 0.38, 0},
	{"claims/s, of a transaction for each (the articles' flow)", "Grouped/beside=each/rate-ratio", 8, 0},
	{"sold-out replies/s, of an empty handler's", "Claim/sold-out/rate-ratio", 0.65, 0},
	{"claims/s with 10⁶ orders, of those with 10⁴", "Orders/orders=1000000/rate-ratio", 0.85, 0},
	{"claims/s on 4,096 connections, of those on 256", "Growth/connections=4096/rate-ratio", 0.8, 0},
	{"claims made of an offer of twice the peak, of the peak", "Overload/peak=2x/made-of-peak", 0.8, 0},
	{"accepted of 12,000 claims at one moment", "Crowd/clients=12000/accepted", 10_800, 0},
	{"p99 of 12,000 claims at one moment (s)", "Crowd/clients=12000/p99-s", 0, 3},
	{"CPU of all processes for a claim, three per user, of one", "Rules/per-user=3/all-ratio", 0, 1.3},
	{"p99 while 500 orders a second expire, of without", "Rules/expiring=500/p99-ratio", 0, 1.5},
	{"requests to Redis for a hand-over of a lock", "HandOver/redislock/requests", 0, 6},
}

// The verdicts on limits. Only met says yes.
const (
	met, missed, undecided, notMeasured = "met", "missed", "undecided", "not measured"
)

// verdict is met or missed if all repetitions agree.
func (h headline) verdict(values []float64) string {
	keeps := func(v float64) bool { return v >= h.atLeast && (h.atMost == 0 || v <= h.atMost) }
	breaks := func(v float64) bool { return !keeps(v) }
	switch {
	case len(values) == 0:
		return notMeasured
	case !slices.ContainsFunc(values, breaks):
		return met
	case !slices.ContainsFunc(values, keeps):
		return missed
	}
	return undecided
}

func (h headline) limit() string {
	if h.atMost != 0 {
		return "≤ " + report.Number(h.atMost)
	}
	return "≥ " + report.Number(h.atLeast)
}

func headlineTable(r *Run) report.Table {
	t := report.Table{Header: []string{"", "measured", "limit", "verdict"}, Text: true}
	for _, h := range headlines {
		values := r.figures[h.figure]
		t.Add(h.name, inRange(values), h.limit(), h.verdict(values))
	}
	return t
}

// inRange is the median with the lowest and the highest value.
func inRange(values []float64) string {
	if len(values) == 0 {
		return report.NotMeasured
	}
	return report.Number(stats.Quantile(values, 0.5)) + " (" + report.Number(slices.Min(values)) + "–" +
		report.Number(slices.Max(values)) + ")"
}
