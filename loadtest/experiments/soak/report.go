package soak

import (
	"context"
	"time"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
	"example.com/flashsale/loadtest/trial"
)

// A Report is the content of soak.json.
type Report struct {
	rig.Environment
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
	WaitLimit    float64        `json:"wait_limit_seconds"`
	Settings     []string       `json:"settings"` // of the instances
	Outages      []outage       `json:"events"`
	Hostility    hostility      `json:"hostile_clients"`
	Violations   []string       `json:"faults"`
	Pass         bool           `json:"pass"`

	begin, settled time.Time
	claims         []rig.Claim // in the order of their replies
	latencies      []time.Duration
	gaps           []trial.Span
}

// report prints and writes what was seen. refused is how many claims of overloads
// were refused. It returns rig.ErrNotProven if a promise was broken.
func (s *schedule) report(ctx context.Context, stack *rig.Stack, h hostility, refused int) error {
	m := s.market
	environment, err := stack.Environment(ctx)
	if err != nil {
		return err
	}
	accounts, err := m.sale.Accounts(ctx)
	if err != nil {
		return err
	}
	r := Report{
		Environment: environment, Seconds: s.duration.Seconds(), Coupons: len(accounts), Verdicts: map[string]int{},
		WaitLimit: waitLimit.Seconds(), Settings: settings, Outages: s.outages, Hostility: h,
		Transitions: m.events.counts, begin: m.begin, settled: m.settled, claims: m.Claims(),
	}
	for _, a := range accounts {
		r.Orders += a.Orders
	}
	r.measure(s.pauses)
	judgeWaits(m, late(r.claims, s.pauses, waitLimit), s.pauses)
	// The clients of an overload have the CPU that the servers leave, so one may be too small.
	if len(r.Transitions) < 4 || len(s.outages) < s.leastFaults() || s.duration >= fullRun && refused == 0 {
		m.Violations.Add("orders were %v, %d faults injected and %d claims refused in overloads: this proves too little",
			r.Transitions, len(s.outages), refused)
	}
	r.Violations = m.All()
	r.Pass = len(r.Violations) == 0
	return r.conclude()
}

// leastFaults returns how many faults a run has to have: all of them, unless it
// is short.
func (s *schedule) leastFaults() int {
	if s.duration < fullRun {
		return 1
	}
	return len(s.faults)
}

// measure adds what the clients saw.
func (r *Report) measure(pauses []pause) {
	for _, c := range r.claims {
		r.Verdicts[verdictOf(c)]++
		r.latencies = append(r.latencies, c.Received.Sub(c.Sent))
	}
	r.Acknowledged = r.Verdicts[rig.Accepted]
	r.P50 = rig.Milliseconds(stats.Quantile(r.latencies, 0.5))
	r.P99 = rig.Milliseconds(stats.Quantile(r.latencies, 0.99))
	r.gaps = trial.Gaps(r.claims, r.begin, func(c rig.Claim) bool {
		return trial.Answered(c) && c.Received.Before(r.settled)
	})
	r.LongestGap = trial.Longest(r.gaps).Seconds()
	r.LongestWait = longestWait(r.claims, pauses, trial.Span{Begin: r.begin, End: time.Now()}).Seconds()
	for i, o := range r.Outages {
		r.Outages[i].LongestWait = longestWait(r.claims, pauses, o.span).Seconds()
	}
}

// judgeWaits adds the claims that waited for too long, the longest first.
func judgeWaits(m *market, late []rig.Claim, pauses []pause) {
	if len(late) > 0 {
		m.Violations.Add("%d claims waited for longer than %s: one at %s for %.1f s, from second %.1f, %+v",
			len(late), waitLimit, late[0].Instance, waited(late[0], pauses).Seconds(),
			late[0].Sent.Sub(m.begin).Seconds(), late[0])
	}
}

// repliesTable counts the replies and the orders.
func (r Report) repliesTable() report.Table {
	t := report.Table{Header: []string{"verdict", "claims"}}
	for _, verdict := range allowedVerdicts {
		t.Add(verdict, r.Verdicts[verdict])
	}
	t.Add("orders", r.Orders)
	t.Add("acknowledged", r.Acknowledged)
	for _, kind := range []string{"used", "returned", "expired"} {
		t.Add(kind, r.Transitions[kind])
	}
	return t
}
