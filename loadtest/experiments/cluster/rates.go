package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/history"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
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
	BruteForce    *float64        `json:"bf_aborts_per_1000"`  // null if they are not counted
	Certification float64         `json:"cert_fails_per_1000"` // the same, found at certification
	Audits        []Audit         `json:"audits"`              // of every member, after the last repetition
	Violations    []string        `json:"violations"`
	Verdict       verdict.Verdict `json:"verdict"`

	database database
}

// manySegments is how many segments the stock of a coupon is split into, to see
// whether several writers then conflict less.
const manySegments = 16

const oneServer = "one server"

// A database is where a rate is measured.
type database struct {
	name    string
	first   *lab.MySQL // has the sale
	dsn     func(database string) string
	servers []*lab.MySQL
}

// databases returns where to measure: the routings of s and, before all sites, one
// server.
func (r *run) databases(s *site) (all []database) {
	if len(r.result.Rates) == 0 {
		all = append(all, database{oneServer, r.stack.MySQL, r.stack.MySQL.DSN, []*lab.MySQL{r.stack.MySQL}})
	}
	for _, routing := range s.routings {
		all = append(all, database{s.name() + ", " + string(routing), s.members()[0], s.proxies[routing].DSN,
			s.members()})
	}
	return all
}

// measureRates measures each strategy on each database, and those that suit
// segments with them on the one where all nodes write.
func (r *run) measureRates(ctx context.Context, s *site) error {
	all := r.databases(s)
	var rows []Rate
	for _, commit := range rig.Commits {
		for _, d := range all {
			rows = append(rows, Rate{Commit: commit, Segments: 1, database: d})
		}
	}
	if slices.Contains(s.routings, lab.AllWriters) {
		for _, commit := range []string{"each", "grouped"} {
			rows = append(rows, Rate{Commit: commit, Segments: manySegments, database: all[len(all)-1]})
		}
	}
	steps := rig.NewSteps(len(rows))
	for _, rate := range rows {
		steps.Next("%s, %s, %d segments", rate.database.name, rate.Commit, rate.Segments)
		if err := r.rate(ctx, s, &rate); err != nil {
			return fmt.Errorf("%s, %s: %w", rate.database.name, rate.Commit, err)
		}
		r.result.Rates, r.result.Pass = append(r.result.Rates, rate), r.result.Pass && rate.Verdict.Pass()
	}
	return nil
}

// rate measures one row.
func (r *run) rate(ctx context.Context, s *site, rate *Rate) error {
	d := rate.database
	rate.Database = d.name
	if err := s.reset(ctx); err != nil {
		return err
	}
	f, err := r.startFleet(ctx, d.first, d.dsn, "COMMIT="+rate.Commit)
	if err != nil {
		return err
	}
	before, err := s.conflicts(ctx)
	if err != nil {
		return errors.Join(err, f.stop())
	}
	var waits []time.Duration
	repetitions, duration := 3, 3*time.Second
	if r.quick {
		repetitions, duration = 1, 2*time.Second
	}
	for range repetitions {
		claims, err := r.repeat(ctx, s, f, rate, duration)
		if err != nil {
			return errors.Join(err, f.stop())
		}
		for _, c := range claims {
			switch {
			case history.Accepted(c):
				waits = append(waits, c.Received.Sub(c.Sent))
			case c.Failed():
				rate.Unavailable++
			}
		}
	}
	after, err := s.conflicts(ctx)
	rate.count(before, after, max(1, len(waits)))
	rate.P99 = rig.Milliseconds(stats.Quantile(waits, 0.99))
	rate.Verdict = verdict.Of(false, len(rate.Violations) > 0, len(waits) > 0)
	return errors.Join(err, f.stop())
}

// count sets how many transactions were aborted for each 1,000 orders.
func (rate *Rate) count(before, after conflicts, orders int) {
	perThousand := func(n int) float64 { return 1000 * float64(n) / float64(orders) }
	if rate.Certification = perThousand(after.certification - before.certification); !after.uncounted {
		n := perThousand(after.bruteForce - before.bruteForce)
		rate.BruteForce = &n
	}
}

// repeat sells a new coupon for a time and returns its claims.
func (r *run) repeat(
	ctx context.Context, s *site, f *fleet, rate *Rate, duration time.Duration,
) ([]rig.Claim, error) {
	coupon, err := f.sale.AddSplitCoupon(ctx, unlimitedStock, rate.Segments)
	if err != nil {
		return nil, err
	}
	if rate.Database != oneServer {
		if err := s.awaitCoupon(ctx, f, coupon); err != nil {
			return nil, err
		}
	}
	begin := time.Now()
	b, err := r.startBuyers(f, coupon)
	if err != nil {
		return nil, err
	}
	rig.Sleep(ctx, duration)
	took := time.Since(begin)
	rate.PerSecond = append(rate.PerSecond, float64(b.AcceptedSince(begin))/took.Seconds())
	b.stop()
	rate.Audits, err = auditAll(ctx, rate.database.servers, f.sale, b)
	rate.Violations = append(rate.Violations, b.violations.All()...)
	return b.Claims(), errors.Join(err, ctx.Err())
}

func ratesTable(rates []Rate) report.Table {
	t := report.Table{Header: []string{"COMMIT", "segments", "database", "claims/s", "p99", "503s", "bf/1000",
		"cert/1000", "verdict"}}
	for _, r := range rates {
		bruteForce := "–"
		if r.BruteForce != nil {
			bruteForce = fmt.Sprintf("%.1f", *r.BruteForce)
		}
		t.Add(r.Commit, r.Segments, r.Database, fmt.Sprintf("%.0f", stats.Quantile(r.PerSecond, 0.5)),
			fmt.Sprintf("%.0f ms", r.P99),
			r.Unavailable, bruteForce, fmt.Sprintf("%.1f", r.Certification), r.Verdict)
	}
	return t
}

// name names the row in a chart.
func (rate Rate) name() string {
	if rate.Segments > 1 {
		return fmt.Sprintf("%s, %d segments, %s", rate.Commit, rate.Segments, rate.Database)
	}
	return rate.Commit + ", " + rate.Database
}
