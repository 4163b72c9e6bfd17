package bench

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/loadtest/stats"
)

// openModel is the latency of claims that arrive at a fixed rate.
var openModel = table{"open model", []string{"", "arrivals/s", "p50", "p99, ms", "p99.9", "sent late, p99"}, []row{
	openRow("empty handler", atQuarter(empty)), openRow("`grouped`", atQuarter(grouped)),
	openRow("empty handler", atHalf(empty)), openRow("`grouped`", atHalf(grouped)),
}}

// arrivals are the latencies of claims that arrive at one rate.
type arrivals struct{ figure }

// Half, and a quarter, of the highest rate of grouped.
func atHalf(v variant) arrivals    { return arrivals{figure{"open/" + v.name, ""}} }
func atQuarter(v variant) arrivals { return arrivals{figure{"open/quarter/" + v.name, ""}} }

func (a arrivals) rate() figure     { return a.with("rate", "1/s") }
func (a arrivals) p50() figure      { return a.with("p50", "ms") }
func (a arrivals) p99() figure      { return a.with("p99", "ms") }
func (a arrivals) p999() figure     { return a.with("p99.9", "ms") }
func (a arrivals) sentLate() figure { return a.with("sent late p99", "ms") }

func openRow(label string, a arrivals) row {
	return row{label, []cell{number(a.rate()), value(a.p50()), spread(a.p99()), value(a.p999()), value(a.sentLate())}}
}

// measureOpenModel measures the latency of claims that arrive at a fixed rate: half, and
// a quarter, of the highest rate that grouped has reached in this run.
func (b *bench) measureOpenModel(ctx context.Context, grouped, empty deployment) error {
	peak := b.median(direct(grouped.variant).figure)
	var all []measurement
	for _, d := range []deployment{empty, grouped} {
		all = append(all, b.latency(atHalf(d.variant), d, peak/2), b.latency(atQuarter(d.variant), d, peak/4))
	}
	return b.interleave(ctx, all)
}

func (b *bench) latency(to arrivals, d deployment, rate float64) measurement {
	return measurement{to.name, func(ctx context.Context) error {
		coupon, err := d.sale.AddCoupon(ctx, unlimitedStock)
		if err != nil {
			return err
		}
		r, err := load{address: d.address, coupons: []int64{coupon}, users: b.users, conns: defaultConns,
			rate: rate}.run(ctx, b.duration)
		if err != nil {
			return err
		}
		if r.refused > 0 {
			return fmt.Errorf("%d of %d claims refused", r.refused, r.requests())
		}
		b.latencies[to.name] = append(b.latencies[to.name], r.latencies...)
		b.add(to.rate(), rate)
		for _, q := range []struct {
			to       figure
			samples  []time.Duration
			fraction float64
		}{
			{to.p50(), r.latencies, 0.5}, {to.p99(), r.latencies, 0.99}, {to.p999(), r.latencies, 0.999},
			{to.sentLate(), r.sendDelays, 0.99},
		} {
			b.add(q.to, float64(stats.Quantile(q.samples, q.fraction))/float64(time.Millisecond))
		}
		return nil
	}}
}
