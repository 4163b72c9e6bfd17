package pageview

import (
	"fmt"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
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

// Table is a table of trials.
func Table(views []Views) report.Table {
	t := report.Table{Header: []string{"", "article", "counted", "lost", "twice in a", "in b", "across",
		"in flight", "1/s", "wait p50", "wait p99", "verdict"}}
	for _, v := range views {
		t.Add(v.String(), v.Article(), v.Counted, v.Lost, v.WithinA, v.WithinB, v.Across, v.InFlight,
			fmt.Sprintf("%.0f", v.PerSecond), fmt.Sprintf("%.0f ms", v.WaitP50), fmt.Sprintf("%.0f ms", v.WaitP99),
			v.Verdict)
	}
	return t
}

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
