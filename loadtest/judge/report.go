package judge

import (
	"fmt"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/shop"
	"example.com/flashsale/loadtest/verdict"
)

var columns = report.Columns[*Result]{
	report.Main("claims", (*Result).Title),
	report.Main("accepted", func(r *Result) int { return len(r.Acknowledged()) }),
	report.Main("no oversell", (*Result).NotOversold),
	report.Main("one each", (*Result).OneEach),
	report.Main("orders kept", (*Result).Kept),
	report.Main("p50 ms", func(r *Result) string { return r.milliseconds(0.5) }),
	report.Main("p99 ms", func(r *Result) string { return r.milliseconds(0.99) }),
	report.Main("verdict", (*Result).Verdict),
}

// Table returns the results for a terminal of 80 columns.
func Table(results []*Result) report.Table {
	return columns.Table(results, func(r *Result) (notes []string) {
		if r.Failure == nil {
			notes = append(notes, r.note())
		}
		for _, reason := range r.Reasons() {
			notes = append(notes, fmt.Sprintf("%s: %s", r.Verdict(), reason))
		}
		return notes
	})
}

func (r *Result) milliseconds(q float64) string {
	return fmt.Sprintf("%.1f", rig.Milliseconds(r.Latency(q)))
}

// note says how the claims were sent and answered.
func (r *Result) note() string {
	outcomes := r.Verdicts()
	s := fmt.Sprintf("%d refused, %d unknown%s; %s orders; at most %d in flight", outcomes[shop.Refused],
		outcomes[shop.Unknown], because(details(r.Claims, shop.Unknown)), r.After.Orders, r.MaxInFlight())
	if !r.Open {
		s += fmt.Sprintf(", all sent within %.1f ms", rig.Milliseconds(r.Skew(r.BurstSize())))
	}
	if d := r.Limit.Delay; d > 0 {
		s += fmt.Sprintf("; %d requests to the database, each %s late", r.Delayed, d)
	}
	if n := r.unsold(); n > 0 {
		s += "; " + count(n, "unit") + " not sold, although as many users wanted one"
	}
	return "(" + s + ")"
}

// unsold returns how many units are left although as many users have none.
func (r *Result) unsold() int {
	if !r.After.Stock.Known || !r.After.Users.Known {
		return 0
	}
	return max(0, min(r.After.Stock.N, r.Users-r.After.Users.N))
}

// A Record is the content of judge.json.
type Record struct {
	rig.Environment
	Shop    string `json:"shop"`
	Version string `json:"version,omitempty"`
	Rows    []Row  `json:"rows"`
	Pass    bool   `json:"pass"`
}

// A Row is a workload in judge.json.
type Row struct {
	Workload    string          `json:"workload"`
	Title       string          `json:"title"`
	Claims      int             `json:"claims"`
	Accepted    int             `json:"accepted"`
	Refused     int             `json:"refused"`
	Unknown     int             `json:"unknown"`
	Orders      string          `json:"orders"`
	NotOversold string          `json:"no_oversell"`
	OneEach     string          `json:"one_each"`
	Kept        string          `json:"orders_kept"`
	P50         float64         `json:"p50_ms"`
	P99         float64         `json:"p99_ms"`
	InFlight    int             `json:"max_in_flight"`
	Skew        float64         `json:"skew_ms"`
	Verdict     verdict.Verdict `json:"verdict"`
	Reasons     []string        `json:"reasons,omitempty"`
	Delay       float64         `json:"delay_ms,omitempty"`
	Report      string          `json:"report,omitempty"`
}

func records(results []*Result) (rows []Row) {
	for _, r := range results {
		rows = append(rows, Row{
			Workload: r.Name, Title: r.Title(), Claims: len(r.Claims), Accepted: len(r.Acknowledged()),
			Refused: r.Verdicts()[shop.Refused], Unknown: r.Verdicts()[shop.Unknown], Orders: r.After.Orders.String(),
			NotOversold: r.NotOversold().String(), OneEach: r.OneEach().String(), Kept: r.Kept().String(),
			P50: rig.Milliseconds(r.Latency(0.5)), P99: rig.Milliseconds(r.Latency(0.99)), InFlight: r.MaxInFlight(),
			Skew: rig.Milliseconds(r.Skew(r.BurstSize())), Verdict: r.Verdict(), Reasons: r.Reasons(),
			Delay: rig.Milliseconds(r.Limit.Delay), Report: r.Limit.Report,
		})
	}
	return rows
}

func page(s *shop.Shop, e rig.Environment, results []*Result) report.Report {
	all := report.Section{Title: "All workloads", Verdicts: verdicts(results), Table: Table(results)}
	p := report.Report{
		Title: "Judged: " + s.Title(), Pass: report.Pass(all), Environment: e, Sections: []report.Section{all},
		Summary: fmt.Sprintf("%d workloads, sent to %s. Nothing oversold, nobody with more orders than he may have, "+
			"and every order there that a client was told of? Where it is known to break, it has to.", len(results), s.URL),
	}
	for i, r := range results {
		p.Sections = append(p.Sections, r.section(directory(i)))
	}
	return p
}

func (r *Result) section(dir string) report.Section {
	title := r.Title()
	if r.Limit.Name == "" {
		title = r.Name + ": " + title
	}
	s := report.Section{
		Title: title, Verdicts: []verdict.Verdict{r.Verdict()}, Table: Table([]*Result{r}),
		Files: report.Generated("judge", dir), Charts: []report.Lanes{report.Claims(r.Claims, maxLines)},
	}
	if r.Limit.Report != "" {
		s.Files = append(s.Files, report.File{Path: r.Limit.Report, Text: "the public report"})
	}
	return s
}

// maxLines is how many claims a chart has.
const maxLines = 1000
