package demo

import (
	"fmt"
	"strings"
	"time"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// Table returns the results: what each experiment did, whether each promise held,
// the verdict, and what the experiment teaches.
func Table(results []Result) report.Table {
	t := report.Table{Header: []string{
		"#", "claims at once", "lock", "guards off", "201s", "orders", "I1 stock", "I2 one each", "I3 all sold",
		"in flight", "p99", "verdict",
	}}
	for i, r := range results {
		t.Add(i+1, r.Title(), r.lockTitle(), r.guardsOffTitle(), len(r.Acknowledged()), r.Orders,
			r.promise(Stock), r.promise(OneEach), r.promise(AllSold), r.Contenders(r.BurstSize()),
			milliseconds(r.Latency(0.99)), r.Verdict())
		t.Add(r.Lesson)
		t.Add(fmt.Sprintf("(%s; last claim sent %s after the first moment)", r.replies(), milliseconds(r.Skew())))
		for _, reason := range r.Reasons() {
			t.Add(fmt.Sprintf("%s: %s", r.Verdict(), reason))
		}
	}
	return t
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
