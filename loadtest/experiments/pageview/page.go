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
	s := report.Section{Title: title, Verdict: report.Right, Table: report.Table{
		Header: []string{"", "has to", "counted", "lost", "1/s", "wait p50, ms", "wait p99, ms", "right"},
	}}
	for _, v := range views {
		name := fmt.Sprintf("%s %s, %s, %s", v.Version, v.Lock, v.Topology, v.Sender)
		control := v.Expect == "break"
		counted.Bars = append(counted.Bars, report.Bar{Name: name, Value: float64(v.Counted), Other: control})
		rate.Bars = append(rate.Bars, report.Bar{Name: name, Value: v.PerSecond, Other: control})
		s.Table.Rows = append(s.Table.Rows, []string{
			name, v.Expect, fmt.Sprint(v.Counted), fmt.Sprint(v.Lost), fmt.Sprintf("%.0f", v.PerSecond),
			fmt.Sprintf("%.1f", v.WaitP50), fmt.Sprintf("%.1f", v.WaitP99), rig.Mark(v.Pass),
		})
		if !v.Pass {
			s.Verdict = report.Wrong
		}
	}
	s.Text = "Grey bars are controls: without a lock for both instances views have to be lost."
	s.Charts = []report.Chart{counted, rate}
	return s
}

func pausesSection(pauses []Pauses) report.Section {
	s := report.Section{
		Title: "A holder that is stopped for longer than its lease", Verdict: report.Right,
		Text: "The holder is stopped (SIGSTOP) between reading and writing; meanwhile the other instance counts. Only a fence makes the late write harmless.",
		Table: report.Table{
			Header: []string{"lock", "has to", "late holder's status", "views answered meanwhile", "answered in all", "counted", "right"},
		},
	}
	for _, p := range pauses {
		s.Table.Rows = append(s.Table.Rows, []string{
			p.Lock, p.Expect, fmt.Sprint(p.Status), fmt.Sprint(p.Others), fmt.Sprint(p.Answered), fmt.Sprint(p.Counted), rig.Mark(p.Pass),
		})
		if !p.Pass {
			s.Verdict = report.Wrong
		}
	}
	return s
}
