package soak

import (
	"context"
	"fmt"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// conclude prints and writes the report.
func (r Report) conclude(ctx context.Context, s *rig.Stack) error {
	summary := fmt.Sprintf("%d claims in %.0f s on %d coupons (p50 %.1f ms, p99 %.1f ms), %d faults, %d acknowledged "+
		"orders, all looked up in the database. The longest time without a verdict was %.1f s, the longest wait of a claim "+
		"%.1f s, of at most %.1f s; the time of suspended instances does not count.", len(r.claims), r.Seconds, r.Coupons,
		r.P50, r.P99, len(r.Outages), r.Acknowledged, r.LongestGap, r.LongestWait, waitLimit.Seconds())
	hostile := fmt.Sprintf("p99 of honest claims: %.1f ms quiet, %.1f ms among hostile clients (at most %d times), "+
		"%.1f ms without a limit per user; nginx took at most %.0f MB for hostile clients, of %d", r.Hostility.Quiet,
		r.Hostility.Hostile, maxSlowdown, r.Hostility.Control, r.Hostility.NginxMemory, maxNginxMemory)
	report.Say("%s", summary)
	report.Say("%s", hostile)
	err := report.ConcludeRows(ctx, s, "soak", r, report.Report{
		Title: "A sale whose parts fail", Summary: summary, Sections: []report.Section{
			{Title: "Replies", Text: hostile, Verdicts: []verdict.Verdict{r.Verdict}, Problems: r.Violations,
				Table: r.repliesTable()},
			{Title: "Faults", Table: outageColumns.Table(r.Outages)},
		},
	})
	if r.Verdict.Pass() {
		report.Say("I1 stock, I2 as many each as allowed, I3 all sold, I4 used at most once and I5 all published held " +
			"throughout and at the end, and every acknowledged order, use and return is there.")
	}
	return err
}

var outageColumns = report.Columns[outage]{
	report.Main("fault", func(o outage) string { return o.What }),
	report.Main("at, s", func(o outage) string { return tenths(o.Second) }),
	report.Main("lasted, s", func(o outage) string { return tenths(o.Down) }),
	report.Main("longest wait of a claim, s", func(o outage) string { return tenths(o.LongestWait) }),
	report.Main("all coupons sell again after, s", func(o outage) string { return tenths(o.SellsAfter) }),
	report.Main("the other instance sells after, s", func(o outage) string {
		if o.OtherAfter == 0 {
			return ""
		}
		return tenths(o.OtherAfter)
	}),
}

func tenths(seconds float64) string { return fmt.Sprintf("%.1f", seconds) }

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
