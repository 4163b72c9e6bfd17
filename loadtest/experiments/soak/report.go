package soak

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// A Report is the content of soak.json.
type Report struct {
	rig.Environment
	Seconds      float64        `json:"seconds"`
	Coupons      int            `json:"coupons"`
	Orders       int            `json:"orders"`
	Acknowledged int            `json:"acknowledged"`
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
}

// report prints and writes the report. It returns rig.ErrNotProven if a promise
// was broken.
func (r *run) report(ctx context.Context) error {
	report, err := r.result(ctx)
	if err != nil {
		return err
	}
	if err := rig.WriteJSON(filepath.Join("out", "soak", "soak.json"), report); err != nil {
		return err
	}
	report.print()
	return errors.Join(r.writePage(report), rig.Proven(report.Pass))
}

func (r *run) result(ctx context.Context) (Report, error) {
	environment, err := r.stack.Environment(ctx)
	if err != nil {
		return Report{}, err
	}
	accounts, err := r.sale.Accounts(ctx)
	if err != nil {
		return Report{}, err
	}
	r.judgeWaits()
	h := &r.history
	report := Report{
		Environment: environment, Seconds: r.duration.Seconds(), Coupons: len(accounts),
		Acknowledged: len(h.acknowledged),
		Verdicts:     h.verdicts, LongestGap: h.longestGap.Seconds(), Outages: r.outages.list,
		Violations:  r.violations.all(),
		LongestWait: r.waits.longest(span{r.begin, time.Now()}).Seconds(), WaitLimit: waitLimit.Seconds(),
		Settings:  settings,
		Hostility: r.hostility,
		P50:       rig.Milliseconds(stats.Quantile(h.latencies, 0.5)),
		P99:       rig.Milliseconds(stats.Quantile(h.latencies, 0.99)),
	}
	for _, a := range accounts {
		report.Orders += a.Orders
	}
	// The clients of a crowd have the CPU that the servers leave, so one crowd may be too small.
	if report.Orders == 0 || len(report.Outages) < r.leastFaults() || r.duration >= fullRun && r.refusedInCrowds == 0 {
		report.Violations = append(report.Violations,
			fmt.Sprintf("%d orders were made, %d faults injected and %d claims of crowds refused: this proves too little",
				report.Orders, len(report.Outages), r.refusedInCrowds))
	}
	report.Pass = len(report.Violations) == 0
	return report, nil
}

// leastFaults returns how many faults a run has to have: all of them, unless it
// is short.
func (r *run) leastFaults() int {
	if r.duration < fullRun {
		return 1
	}
	return len(r.faults)
}

// judgeWaits finds the longest wait of each outage, and the claims that waited for
// too long.
func (r *run) judgeWaits() {
	for i, o := range r.outages.list {
		r.outages.list[i].LongestWait = r.waits.longest(o.span).Seconds()
	}
	if found := late(r.waits.list, r.waits.pauses, waitLimit); len(found) > 0 {
		first := found[0]
		r.violations.add("%d claims waited for longer than %s: one at %s for %.1f s, from second %.1f, %+v",
			len(found), waitLimit,
			client{instance: first.instance}.name(), first.counted(r.waits.pauses).Seconds(),
			first.begin.Sub(r.begin).Seconds(), first.claim)
	}
}

func (r Report) print() {
	claims := 0
	for _, n := range r.Verdicts {
		claims += n
	}
	fmt.Printf("%d claims in %.0f s on %d coupons (p50 %.1f ms, p99 %.1f ms, longest time without a verdict %.1f s)\n",
		claims, r.Seconds, r.Coupons, r.P50, r.P99, r.LongestGap)
	fmt.Printf("the longest wait of a claim was %.1f s, of at most %.1f s; the time of suspended instances does not count\n", r.LongestWait, r.WaitLimit)
	for _, verdict := range allowedVerdicts {
		fmt.Printf("  %-18s %9d\n", verdict, r.Verdicts[verdict])
	}
	fmt.Printf("  %-18s %9d\n  %-18s %9d\n", "orders", r.Orders, "acknowledged", r.Acknowledged)
	faultsTable(r.Outages).Print()
	fmt.Printf("  p99 of honest claims: %.1f ms quiet, %.1f ms among hostile clients (at most %d times), %.1f ms without a limit per user\n",
		r.Hostility.Quiet, r.Hostility.Hostile, maxSlowdown, r.Hostility.Control)
	for _, v := range r.Violations {
		fmt.Println("  NO:", v)
	}
	if r.Pass {
		fmt.Println("I1 stock, I2 one each and I3 all sold held throughout and at the end, and every acknowledged order is there.")
	}
}
