package demo

import (
	"fmt"
	"strings"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// row is the format of one line of the table, which fits 140 columns.
const row = "%2s  %-24s %-17s %-13s %5s %6s  %-12s %-14s %-12s %9s %7s  %s\n"

// Table returns the results as text: what each experiment did, whether each
// promise held, whether that is as it has to be, and what the experiment teaches.
func Table(results []Result) string {
	var t strings.Builder
	fmt.Fprintf(&t, row, "#", "claims at once", "lock", "guards off", "201s", "orders", "I1 stock", "I2 one each", "I3 all sold", "in flight", "p99", "right")
	t.WriteString(strings.Repeat("-", 132) + "\n")
	for i, r := range results {
		fmt.Fprintf(&t, row, fmt.Sprint(i+1), r.Title(), r.lockTitle(), r.guardsOffTitle(),
			fmt.Sprint(len(r.Acknowledged())), fmt.Sprint(r.Orders),
			r.promise(Stock), r.promise(OneEach), r.promise(AllSold),
			fmt.Sprint(r.MaxInFlight()), milliseconds(r.Latency(0.99)), rig.Mark(r.Pass()))
		fmt.Fprintf(&t, "    %s\n", r.Lesson)
		fmt.Fprintf(&t, "    (%s; last claim sent %s after the first moment)\n", r.replies(), milliseconds(r.Skew()))
		for _, fault := range r.Faults() {
			fmt.Fprintf(&t, "    NO: %s\n", fault)
		}
	}
	return t.String()
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

func (e Experiment) guardsOffTitle() string {
	if len(e.GuardsOff) == 0 {
		return "none"
	}
	return strings.Join(e.GuardsOff, ", ")
}

func (r Result) promise(p Promise) string {
	if r.Failure != nil {
		return "?"
	}
	if damage := r.damage(p); damage != "" {
		return damage
	}
	return "held"
}

// replies counts the refusals by code and the replies by instance.
func (r Result) replies() string {
	parts := []string{"commit " + r.Commit}
	verdicts, instances := r.Verdicts(), r.Instances()
	for _, code := range rig.Refusals {
		if n := verdicts[code]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, code))
		}
	}
	if n := r.Unexpected(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d unexpected", n))
	}
	parts = append(parts, fmt.Sprintf("instances a:b = %d:%d", instances["a"], instances["b"]))
	return strings.Join(parts, ", ")
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
}
