package pageview

import (
	"fmt"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// Section shows each trial.
func Section(views []*Views) report.Section {
	return trial.Section(fmt.Sprintf("%d page views at once", burstSize),
		"A duplicate was told a count that another view had been told before.", columns, views)
}

var columns = report.Columns[*Views]{
	report.Main("", func(v *Views) string { return v.Trial.String() }),
	report.Detail("article", func(v *Views) string { return article[v.Version+" "+v.Lock] }),
	report.Main("counted", func(v *Views) int64 { return v.Counted }),
	report.Main("lost", func(v *Views) int64 { return v.Lost }),
	report.Detail("twice in a", func(v *Views) int64 { return v.WithinA }),
	report.Detail("in b", func(v *Views) int64 { return v.WithinB }),
	report.Detail("across", func(v *Views) int64 { return v.Across }),
	report.Detail("in flight", func(v *Views) int { return v.InFlight }),
	report.Main("1/s", func(v *Views) string { return fmt.Sprintf("%.0f", v.PerSecond) }),
	report.Detail("wait p50", func(v *Views) string { return fmt.Sprintf("%.0f ms", v.WaitP50) }),
	report.Main("wait p99", func(v *Views) string { return fmt.Sprintf("%.0f ms", v.WaitP99) }),
	report.Main("verdict", func(v *Views) verdict.Verdict { return v.Verdict }),
}

func pausesSection(pauses []*Pauses) report.Section {
	return trial.Section("A holder that is stopped for longer than its lease",
		"The holder is stopped (SIGSTOP) between reading and writing; meanwhile the other instance counts. "+
			"Only a fence makes the late write harmless.", pauseColumns, pauses)
}

var pauseColumns = report.Columns[*Pauses]{
	report.Main("lock", func(p *Pauses) string { return p.Lock }),
	report.Main("has to", func(p *Pauses) string { return p.Expect }),
	report.Detail("late holder's status", func(p *Pauses) int { return p.Status }),
	report.Main("late write", (*Pauses).late),
	report.Detail("answered meanwhile", func(p *Pauses) int { return p.Others }),
	report.Detail("answered in all", func(p *Pauses) int { return p.Answered }),
	report.Main("counted", func(p *Pauses) int64 { return p.Counted }),
	report.Main("verdict", func(p *Pauses) verdict.Verdict { return p.Verdict }),
}
