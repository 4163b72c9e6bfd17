package demo

import (
	"fmt"
	"path"
	"slices"
	"time"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// WriteReport writes out/name/report.html: the time line of every experiment,
// its promises, and what it teaches. how says where the claims were sent and how
// they were checked.
func WriteReport(name, title, how string, e rig.Environment, results []Result) error {
	all := verdicts(results)
	page := report.Report{
		Title: title, Pass: verdict.AllPass(all), Environment: e,
		Summary:  fmt.Sprintf("%d bursts of claims, each sent at one moment %s.", len(results), how),
		Sections: []report.Section{{Title: "All rows", Verdicts: all, Table: Table(results)}},
	}
	for i, r := range results {
		page.Sections = append(page.Sections, r.section(name, fmt.Sprintf("%02d", i+1), i+1))
	}
	return report.Write(name, page)
}

// section describes r, whose load generator wrote to the given directory of
// out/name.
func (r Result) section(name, directory string, number int) report.Section {
	s := report.Section{
		Title: fmt.Sprintf("%d. %s, lock: %s, guards off: %s", number, r.Title(), r.lockTitle(),
			r.guardsOffTitle()),
		Verdicts: []verdict.Verdict{r.Verdict()}, Text: fmt.Sprintf("%s (%s)", r.Lesson, r.replies()),
		Problems: r.Reasons(), Table: columns.Table([]numbered{{r, number}}),
	}
	s.Files = report.Existing(name,
		report.File{Path: path.Join(directory, rig.K6Report), Text: "k6's own report"},
		report.File{Path: path.Join(directory, rig.JMeterReport, "index.html"), Text: "JMeter's own dashboard"})
	if len(r.Claims) > 0 {
		s.Charts = []report.Chart{report.Claims{
			Caption: fmt.Sprintf("Round 1 of %d: each claim from sent to answered, in the lane of the instance that replied", r.Rounds),
			Claims:  r.firstRound(),
		}}
	}
	return s
}

// firstRound returns the claims that were sent first, as many as a round has.
func (r Result) firstRound() []report.Claim {
	sent := slices.Clone(r.Claims)
	slices.SortStableFunc(sent, func(a, b rig.Claim) int { return a.Sent.Compare(b.Sent) })
	all := make([]report.Claim, min(len(sent), r.BurstSize()))
	for i := range all {
		c := sent[i]
		all[i] = report.Claim{
			Instance: c.Instance, Verdict: c.Verdict, Sent: sinceMS(sent[0].Sent, c.Sent),
			Answered: sinceMS(sent[0].Sent, c.Received),
		}
	}
	return all
}

func sinceMS(begin, t time.Time) float64 { return rig.Milliseconds(t.Sub(begin)) }
