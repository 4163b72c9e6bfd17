package main

import (
	"fmt"
	"strings"
	"time"
)

// row is one line of the table; it fits 140 columns.
const row = "%2s  %-24s %-16s %-13s %5s %6s  %-12s %-14s %-12s %9s %8s  %s\n"

// table shows every experiment: what was tried, what the database said about
// each promise, whether that is what had to happen, and what it teaches.
func table(results []Result) string {
	var t strings.Builder
	fmt.Fprintf(&t, row, "#", "claims at once", "lock", "guards off", "201s", "orders", "I1 stock", "I2 one each", "I3 all sold", "in flight", "p99", "right")
	t.WriteString(strings.Repeat("-", 132) + "\n")
	for i, r := range results {
		fmt.Fprintf(&t, row, fmt.Sprint(i+1), r.title(), r.lockTitle(), r.offTitle(),
			fmt.Sprint(len(r.Acked)), fmt.Sprint(r.Audit.Orders),
			r.promise(Stock), r.promise(OneEach), r.promise(AllSold),
			fmt.Sprint(r.MaxInFlight()), milliseconds(r.Latency(0.99)), yes(r.Pass()))
		fmt.Fprintf(&t, "    %s\n", r.Lesson)
		fmt.Fprintf(&t, "    (%s; last claim left %s after the first moment)\n", r.answers(), milliseconds(r.Skew()))
		for _, fault := range r.Faults() {
			fmt.Fprintf(&t, "    NO: %s\n", fault)
		}
	}
	return t.String()
}

func (w Workload) title() string {
	s := fmt.Sprintf("%d users × %d, stock %d", w.Users, w.Each, w.Stock)
	if w.Users == 1 {
		s = fmt.Sprintf("1 user × %d", w.Each)
	}
	if w.Rounds > 1 {
		s += fmt.Sprintf(", %d times", w.Rounds)
	}
	return s
}

func (e Experiment) lockTitle() string {
	switch {
	case e.Lock == "redis":
		return "redis per " + e.Scope
	case e.Lock == "local":
		return "local mutex"
	}
	return e.Lock
}

func (e Experiment) offTitle() string {
	if len(e.Off) == 0 {
		return "none"
	}
	return strings.Join(e.Off, ", ")
}

func (r Result) promise(p Promise) string {
	if r.Failure != nil {
		return "?"
	}
	if damage := r.broken(p); damage != "" {
		return damage
	}
	return "held"
}

// answers sums up what the claims were told, and by whom.
func (r Result) answers() string {
	parts := []string{"commit " + r.Commit}
	for _, v := range []string{"sold_out", "already_claimed", "claim_in_progress"} {
		if n := r.Verdicts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	if n := r.Unexpected(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d unexpected", n))
	}
	parts = append(parts, fmt.Sprintf("instances a:b = %d:%d", r.Instances["a"], r.Instances["b"]))
	return strings.Join(parts, ", ")
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "NO"
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
}
