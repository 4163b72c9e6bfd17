package demo

import (
	"fmt"
	"path"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// pageOf returns the page of results: the time line of every experiment, its promises, and
// what it teaches.
func pageOf(name string, e rig.Environment, results []*Result) report.Report {
	all := report.Section{Title: "All rows", Table: Table(results)}
	var each []report.Section
	for _, r := range results {
		all.Judge(r.Verdict())
		each = append(each, r.section(name))
	}
	return report.Report{
		Title: "The promises of the sale", Pass: report.Pass(all), Environment: e,
		Sections: append([]report.Section{all}, each...),
		Summary: fmt.Sprintf("%d bursts of claims, each sent at one moment to two instances behind nginx, and checked in the database.",
			len(results)),
	}
}

// section describes r, whose load generator wrote to a directory of out/name.
func (r *Result) section(name string) report.Section {
	return report.Section{
		Title:    fmt.Sprintf("%d. %s", r.number, r),
		Verdicts: []verdict.Verdict{r.Verdict()}, Text: fmt.Sprintf("%s (%s)", r.Lesson, r.replies()),
		Problems: r.Reasons(), Table: columns.Table([]*Result{r}), Files: report.Generated(name, path.Base(r.dir)),
		Charts: []report.Lanes{report.Claims(r.Claims, r.BurstSize())}, // round 1
	}
}
