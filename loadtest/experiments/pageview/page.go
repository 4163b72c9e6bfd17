package pageview

import (
	"fmt"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// writePage writes out/pview/report.html.
func (r Rows) writePage(e rig.Environment, pass bool) error {
	return report.Write("pview", report.Report{
		Title: "Page views under a lock", Pass: pass, Environment: e,
		Summary: fmt.Sprintf("%d page views at once increment a counter that only a lock protects, on two instances behind nginx.", burstSize),
		Sections: []report.Section{
			Section("Views that were counted", r.Views),
			pausesSection(r.Pauses),
		},
	})
}

// Section shows the count and the rate of each trial.
func Section(title string, views []Views) report.Section {
	counted := report.Bars{Caption: fmt.Sprintf("Views counted, of %d", burstSize), Unit: "views"}
	rate := report.Bars{Caption: "Views a second", Unit: "1/s"}
	for _, v := range views {
		control := v.Expect == "break"
		counted.Bars = append(counted.Bars, report.Bar{Name: v.String(), Value: float64(v.Counted), Other: control})
		rate.Bars = append(rate.Bars, report.Bar{Name: v.String(), Value: v.PerSecond, Other: control})
	}
	return report.Section{
		Title: title, Verdicts: Verdicts(views),
		Text:   "Grey bars are controls, which have to lose views. A duplicate was told a count that another view had been told before.",
		Charts: []report.Chart{counted, rate}, Table: Table(views),
	}
}

var columns = report.Columns[Views]{
	report.Main("", Views.String), report.Detail("article", Views.Article),
	report.Main("counted", func(v Views) int64 { return v.Counted }),
	report.Main("lost", func(v Views) int64 { return v.Lost }),
	report.Detail("twice in a", func(v Views) int64 { return v.WithinA }),
	report.Detail("in b", func(v Views) int64 { return v.WithinB }),
	report.Detail("across", func(v Views) int64 { return v.Across }),
	report.Detail("in flight", func(v Views) int { return v.InFlight }),
	report.Main("1/s", func(v Views) string { return fmt.Sprintf("%.0f", v.PerSecond) }),
	report.Detail("wait p50", func(v Views) string { return fmt.Sprintf("%.0f ms", v.WaitP50) }),
	report.Main("wait p99", func(v Views) string { return fmt.Sprintf("%.0f ms", v.WaitP99) }),
	report.Main("verdict", func(v Views) verdict.Verdict { return v.Verdict }),
}

// Table is a table of trials.
func Table(views []Views) report.Table { return columns.Table(views) }

func pausesSection(pauses []Pauses) report.Section {
	return report.Section{
		Title:    "A holder that is stopped for longer than its lease",
		Verdicts: pauseVerdicts(pauses),
		Text: "The holder is stopped (SIGSTOP) between reading and writing; meanwhile the other instance counts. " +
			"Only a fence makes the late write harmless.",
		Table: pausesTable(pauses),
	}
}

func pausesTable(pauses []Pauses) report.Table {
	t := report.Table{Header: []string{
		"lock", "has to", "late holder's status", "late write", "answered meanwhile", "answered in all",
		"counted", "verdict",
	}}
	for _, p := range pauses {
		write := "refused"
		switch {
		case p.overwritten():
			write = "overwrites"
		case p.Counted > int64(1+p.Others):
			write = "counted"
		}
		t.Add(p.Lock, p.Expect, p.Status, write, p.Others, p.Answered, p.Counted,
			p.Verdict)
	}
	return t
}
