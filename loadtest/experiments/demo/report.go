package demo

import (
	"fmt"
	"path"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// writeReport writes out/name/report.html: the time line of every experiment,
// its promises, and what it teaches.
func writeReport(name string, e rig.Environment, results []*Result) error {
	all := verdicts(results)
	page := report.Report{
		Title: "The promises of the sale", Pass: verdict.AllPass(all), Environment: e,
		Summary: fmt.Sprintf("%d bursts of claims, each sent at one moment to two instances behind nginx, and checked in the database.",
			len(results)),
		Sections: []report.Section{{Title: "All rows", Verdicts: all, Table: Table(results)}},
	}
	for _, r := range results {
		page.Sections = append(page.Sections, r.section(name))
	}
	return report.Write(name, page)
}

// section describes r, whose load generator wrote to a directory of out/name.
func (r *Result) section(name string) report.Section {
	return report.Section{
		Title:    fmt.Sprintf("%d. %s", r.number, r),
		Verdicts: []verdict.Verdict{r.Verdict()}, Text: fmt.Sprintf("%s (%s)", r.Lesson, r.replies()),
		Problems: r.Reasons(), Table: columns.Table([]*Result{r}), Files: report.Generated(name, path.Base(r.dir)),
		Charts: []report.Chart{report.Claims{Claims: r.Claims, Most: r.BurstSize()}}, // round 1
	}
}
