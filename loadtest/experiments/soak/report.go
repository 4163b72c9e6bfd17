package soak

import (
	"context"
	"slices"
	"strings"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// A Report is the rows of soak.json.
type Report struct {
	Seconds      float64        `json:"seconds"`
	Coupons      int            `json:"coupons"`
	Orders       int            `json:"orders"`
	Acknowledged int            `json:"acknowledged"`
	Transitions  map[string]int `json:"transitions"` // of orders: claimed, used, returned, expired
	Verdicts     map[string]int `json:"verdicts"`
	P50          float64        `json:"p50_ms"`
	P99          float64        `json:"p99_ms"`
	LongestGap   float64        `json:"longest_gap_seconds"`  // without any verdict but unknown
	LongestWait  float64        `json:"longest_wait_seconds"` // of a claim for its reply, while its instance ran
	Outages      []outage       `json:"events"`
	Hostility    hostility      `json:"hostile_clients"`
	trial.Judged

	begin  time.Time
	claims []rig.Claim // in the order of their replies
}

// unknown is the verdict on all claims whose outcome is unknown.
const unknown = "unknown"

// allowedVerdicts are the verdicts that a claim may have at any time.
var allowedVerdicts = slices.Concat([]string{rig.Accepted}, rig.Refusals, []string{"not_started", unknown})

// report prints and writes what was seen. It returns rig.ErrNotProven if a promise was broken.
func (m *market) report(ctx context.Context, h hostility) error {
	accounts, err := m.Accounts(ctx)
	if err != nil {
		return err
	}
	r := Report{
		Seconds: m.duration.Seconds(), Coupons: len(accounts), Verdicts: map[string]int{}, Outages: m.outages,
		Hostility: h, Transitions: m.events.counts, begin: m.begin, claims: m.Claims(),
	}
	for _, a := range accounts {
		r.Orders += a.Orders
	}
	r.measure(m)
	if len(r.Transitions) < 4 || len(m.outages) == 0 || m.duration >= fullRun && len(m.outages) < len(m.faults) {
		m.Violations.Add("orders were %v, and %d faults injected: this proves too little", r.Transitions, len(m.outages))
	}
	r.Judge(false, m.All(), true)
	return r.conclude(ctx, m.stack)
}

// measure adds what the clients saw, and judges it.
func (r *Report) measure(m *market) {
	for _, c := range r.claims {
		said := c.Verdict
		if c.Failed() {
			said = unknown
		}
		if !slices.Contains(allowedVerdicts, said) {
			m.Violations.Add("unexpected reply to a claim: %+v", c)
		}
		r.Verdicts[said]++
	}
	r.Acknowledged = r.Verdicts[rig.Accepted]
	all := rig.Burst{Claims: r.claims}
	r.P50, r.P99 = rig.Milliseconds(all.Latency(0.5)), rig.Milliseconds(all.Latency(0.99))
	r.LongestGap = trial.Longest(trial.Gaps(r.claims, r.begin, func(c rig.Claim) bool {
		return trial.Answered(c) && c.Received.Before(m.settled)
	})).Seconds()
	for i, o := range r.Outages {
		_, d := longestWait(r.claims, r.Outages, trial.Span{Begin: o.strike.Begin, End: o.end})
		r.Outages[i].LongestWait = d.Seconds()
	}
	c, d := longestWait(r.claims, r.Outages, trial.Span{Begin: r.begin, End: time.Now()})
	if r.LongestWait = d.Seconds(); d > waitLimit {
		m.Violations.Add("a claim at %s waited for %.1f s, longer than %s, from second %.1f: %+v",
			c.Instance, r.LongestWait, waitLimit, c.Sent.Sub(m.begin).Seconds(), c)
	}
}

// waitLimit is how long a claim may wait for its reply, whatever has failed. Nginx
// waits for an instance longer than any client does (60 s), so it hides no late
// reply.
const waitLimit = claimTimeout + time.Second

// waited returns for how long of c's wait the service is responsible. A suspended
// instance cannot reply: the time in which the instance was suspended that c was sent to
// does not count, and of a claim through nginx, which may wait for either, that of both.
func waited(c rig.Claim, outages []outage) time.Duration {
	wait := trial.Span{Begin: c.Sent, End: c.Received}
	d := wait.Took()
	for _, o := range outages {
		name, suspended := strings.CutSuffix(o.What, suspension)
		if suspended && (c.Instance == "nginx" || c.Instance == name) {
			d -= wait.Overlap(o.strike)
		}
	}
	return d
}

// longestWait returns the claim that waited for longest of those whose wait touches during.
func longestWait(claims []rig.Claim, outages []outage, during trial.Span) (longest rig.Claim, d time.Duration) {
	for _, c := range claims {
		if w := waited(c, outages); w > d && !c.Received.Before(during.Begin) && !c.Sent.After(during.End) {
			longest, d = c, w
		}
	}
	return longest, d
}
