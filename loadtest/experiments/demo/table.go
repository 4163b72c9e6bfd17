package demo

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

func promiseColumn(p Promise, name string) report.Column[*Result] {
	return report.Detail(name, func(r *Result) string { return r.promise(p) })
}

var columns = report.Columns[*Result]{
	report.Main("#", func(r *Result) int { return r.number }),
	report.Main("claims at once", func(r *Result) string { return r.Title() }),
	report.Main("lock", func(r *Result) string { return r.lockTitle() }),
	report.Main("guards off", func(r *Result) string { return r.guardsOffTitle() }),
	report.Detail("201s", func(r *Result) int { return len(r.Acknowledged()) }),
	report.Main("orders", (*Result).sold),
	promiseColumn(Stock, "I1 stock"), promiseColumn(OneEach, "I2 one each"), promiseColumn(AllSold, "I3 all sold"),
	report.Detail("in flight", func(r *Result) int { return r.Contenders(r.BurstSize()) }),
	report.Detail("p50", func(r *Result) string { return milliseconds(r.Latency(0.5)) }),
	report.Detail("p99", func(r *Result) string { return milliseconds(r.Latency(0.99)) }),
	report.Main("verdict", (*Result).Verdict),
}

// Table returns the results: what each experiment did, whether each promise held, the
// verdict, and the reasons of a verdict that fails the demo.
func Table(results []*Result) report.Table {
	return columns.Table(results, func(r *Result) (notes []string) {
		for _, reason := range r.Reasons() {
			notes = append(notes, fmt.Sprintf("%s: %s", r.Verdict(), reason))
		}
		return notes
	})
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

func (r *Result) promise(p Promise) string {
	if damage := r.damage(p); damage != "" {
		return damage
	}
	return "held"
}

// sold is how many orders count, and how many units are in stock that nobody put there.
func (r *Result) sold() string {
	if r.Surplus > 0 {
		return fmt.Sprintf("%d, %d surplus", r.Orders, r.Surplus)
	}
	return strconv.Itoa(r.Orders)
}

// replies counts the refusals by code and the replies by instance.
func (r *Result) replies() string {
	parts := []string{"commit " + r.Commit, "last claim sent after " + milliseconds(r.Skew(r.BurstSize()))}
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
