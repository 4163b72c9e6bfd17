package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// A Rate is how fast one commit strategy sells one coupon.
type Rate struct {
	Commit      string    `json:"commit"`
	Segments    int       `json:"segments"` // of the coupon's stock
	Database    string    `json:"database"`
	PerSecond   []float64 `json:"claims_per_s"` // of each repetition
	P99         float64   `json:"p99_ms"`
	Unavailable int       `json:"unavailable"` // claims without a verdict at first, in all repetitions
	// transactions aborted in favour of another node's, per 1,000 orders
	BruteForce    *float64 `json:"bf_aborts_per_1000"`  // null if they are not counted
	Certification float64  `json:"cert_fails_per_1000"` // the same, found at certification
	Audits        []Audit  `json:"audits"`              // of every member, after the last repetition
	trial.Judged

	run      *run
	site     *site
	database database
	waits    []time.Duration // of the accepted claims
}

// manySegments is how many segments the stock of a coupon is split into, to see
// whether several writers then conflict less.
const manySegments = 16

// A database is where a rate is measured.
type database struct {
	name    string
	dsn     func(database string) string
	servers []*lab.MySQL // the first has the sale
}

// rates returns each strategy on each database, and those that suit segments with them
// on the one where all nodes write. The first site has one server beside it.
func (r *run) rates(s *site) (rows []*Rate) {
	var all []database
	if len(r.result.Rates) == 0 {
		all = append(all, database{"one server", r.stack.MySQL.DSN, []*lab.MySQL{r.stack.MySQL}})
	}
	for _, routing := range s.routings {
		all = append(all, database{s.name + ", " + string(routing), s.proxies[routing].DSN, s.Members})
	}
	add := func(commit string, segments int, d database) {
		rows = append(rows, &Rate{Commit: commit, Segments: segments, Database: d.name, run: r, site: s, database: d})
	}
	for _, commit := range rig.Commits {
		for _, d := range all {
			add(commit, 1, d)
		}
	}
	if slices.Contains(s.routings, lab.AllWriters) {
		add("each", manySegments, all[len(all)-1])
		add("grouped", manySegments, all[len(all)-1])
	}
	return rows
}

func (rate *Rate) String() string {
	if rate.Segments > 1 {
		return fmt.Sprintf("%s, %d segments, %s", rate.Commit, rate.Segments, rate.Database)
	}
	return rate.Commit + ", " + rate.Database
}

// Run measures the row.
func (rate *Rate) Run(ctx context.Context) (verdict.Verdict, error) {
	rate.PerSecond, rate.Unavailable, rate.Violations, rate.waits = nil, 0, nil, nil
	d := rate.database
	if err := rate.site.reset(ctx); err != nil {
		return "", err
	}
	err := rate.run.withFleet(ctx, d.servers[0], d.dsn, func(f *rig.Fleet) error {
		before, err := rate.site.conflicts(ctx, rate.site.Members)
		if err != nil {
			return err
		}
		repetitions, duration := 3, 3*time.Second
		if rate.run.quick {
			repetitions, duration = 1, 2*time.Second
		}
		for range repetitions {
			if err := rate.repeat(ctx, f, duration); err != nil {
				return err
			}
		}
		after, err := rate.site.conflicts(ctx, rate.site.Members)
		rate.count(before, after, max(1, len(rate.waits)))
		return err
	}, "COMMIT="+rate.Commit)
	rate.P99 = rig.Milliseconds(stats.Quantile(rate.waits, 0.99))
	return rate.Judge(false, rate.Violations, len(rate.waits) > 0), err
}

// repeat sells a new coupon for a time.
func (rate *Rate) repeat(ctx context.Context, f *rig.Fleet, duration time.Duration) error {
	b, err := offer(ctx, f, rate.Segments, rate.database.servers...)
	if err != nil {
		return err
	}
	course, err := rate.run.play(ctx, f, trial.Schedule{Rest: duration}, b)
	if err != nil {
		return err
	}
	claims := rig.Burst{Claims: b.Claims()}
	rate.PerSecond = append(rate.PerSecond, acceptedRate(claims.Claims, course.Begin, course.End))
	rate.waits = append(rate.waits, claims.Times(rig.Claim.Took, rig.Accepted)...)
	rate.Unavailable += claims.Failed()
	rate.Audits, err = auditAll(ctx, f.Sale, b, rate.database.servers, false)
	rate.Violations = append(rate.Violations, b.All()...)
	return err
}

// count sets how many transactions were aborted for each 1,000 orders.
func (rate *Rate) count(before, after conflicts, orders int) {
	perThousand := func(n int) float64 { return 1000 * float64(n) / float64(orders) }
	if rate.Certification = perThousand(after.certification - before.certification); !after.uncounted {
		n := perThousand(after.bruteForce - before.bruteForce)
		rate.BruteForce = &n
	}
}

var rateColumns = report.Columns[*Rate]{
	report.Main("COMMIT", func(r *Rate) string { return r.Commit }),
	report.Main("segments", func(r *Rate) int { return r.Segments }),
	report.Main("database", func(r *Rate) string { return r.Database }),
	report.Main("claims/s", func(r *Rate) string { return inRange(r.PerSecond) }),
	report.Main("p99", func(r *Rate) string { return fmt.Sprintf("%.0f ms", r.P99) }),
	report.Detail("503s", func(r *Rate) int { return r.Unavailable }),
	report.Detail("bf/1000", func(r *Rate) string {
		if r.BruteForce == nil {
			return "–"
		}
		return fmt.Sprintf("%.1f", *r.BruteForce)
	}),
	report.Detail("cert/1000", func(r *Rate) string { return fmt.Sprintf("%.1f", r.Certification) }),
	report.Main("verdict", func(r *Rate) verdict.Verdict { return r.Verdict }),
}

// inRange is the median with the lowest and the highest value, if there are several.
func inRange(values []float64) string {
	if len(values) == 1 {
		return report.Number(values[0])
	}
	return fmt.Sprintf("%s (%s–%s)", report.Number(stats.Quantile(values, 0.5)), report.Number(slices.Min(values)),
		report.Number(slices.Max(values)))
}
