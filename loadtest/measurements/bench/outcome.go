package bench

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// An outcome is what became of a load, and what it cost the service.
type outcome struct {
	phases []clients.Result
	cpu    time.Duration // that the instances used; 0 on a system without /proc
	others time.Duration // that the others of the deployment used
	memory float64       // MB, of the larger instance, at its peak
}

// rates returns the claims per second of the first phase that got the verdict, the
// p99 of all, and their cost. The noise of the load generator and of other processes
// affects the CPU time little. A claim without a reply is an error.
func (o outcome) rates(to rate, verdict string) ([]measured, error) {
	r := o.phases[0]
	if lost := r.Replies(clients.NoReply); lost > 0 || len(r.Claims) == 0 {
		return nil, fmt.Errorf("of %d claims %d got no reply: %s", len(r.Claims), lost, r.Detail)
	}
	var lasted time.Duration // to the last reply
	for _, c := range r.Claims {
		lasted = max(lasted, c.Received)
	}
	values := []measured{
		{to.figure, float64(r.Replies(verdict)) / lasted.Seconds()},
		{to.p99(), quantile(r.Times(clients.Claim.Latency), 0.99)},
		{to.memory(), o.memory},
	}
	if o.cpu > 0 {
		values = append(values, measured{to.cpu(), perClaim(o.cpu, r)})
	}
	if o.cpu > 0 && o.others > 0 {
		values = append(values, measured{to.machineCPU(), perClaim(o.cpu+o.others, r)})
	}
	return values, nil
}

// perClaim returns microseconds.
func perClaim(cpu time.Duration, r clients.Result) float64 {
	return float64(cpu.Microseconds()) / float64(len(r.Claims))
}

// quantile returns a quantile in milliseconds.
func quantile(times []time.Duration, q float64) float64 {
	return rig.Milliseconds(stats.Quantile(times, q))
}

// accepted measures l on new coupons that do not sell out, split into so many
// segments. Each claim is by a user without an order.
func accepted(to rate, d deployment, l clients.Load, coupons, segments int) measurement {
	return measurement{to.name, func(ctx context.Context) ([]measured, error) {
		o, err := d.claim(ctx, l, coupons, segments)
		if err != nil {
			return nil, err
		}
		values, err := o.rates(to, rig.Accepted)
		if err != nil {
			return nil, err
		}
		claims := o.phases[0].Claims
		share := float64(o.phases[0].Replies(rig.Accepted)) / float64(len(claims))
		return append(values, measured{to.refused(), 100 * (1 - share)}), nil
	}}
}

// refused measures claims of a coupon that are all refused with the code.
func refused(to rate, code string, d deployment, l clients.Load, coupon int64) measurement {
	l.Coupons = []int64{coupon}
	return measurement{to.name, func(ctx context.Context) ([]measured, error) {
		o, err := d.send(ctx, l)
		if err != nil {
			return nil, err
		}
		if r := o.phases[0]; r.Replies(code) < len(r.Claims) {
			return nil, fmt.Errorf("%d of %d claims got %s: %s", r.Replies(code), len(r.Claims), code, r.Detail)
		}
		return o.rates(to, code)
	}}
}

// arriving measures the latency of claims that arrive at a rate, and adds each to
// latencies.
func arriving(
	to arrivals, d deployment, rate func() float64, duration time.Duration, latencies map[string][]time.Duration,
) measurement {
	return measurement{to.name, func(ctx context.Context) ([]measured, error) {
		rate := rate()
		l := clients.Load{Connect: defaultConns, Phases: []generator.Phase{
			{Rate: rate, Count: int(rate * duration.Seconds())},
		}}
		o, err := d.claim(ctx, l, 1, 1)
		if err != nil {
			return nil, err
		}
		r := o.phases[0]
		if n := r.Replies(rig.Accepted); n < len(r.Claims) {
			return nil, fmt.Errorf("%d of %d claims accepted: %s", n, len(r.Claims), r.Detail)
		}
		took := r.Times(clients.Claim.Latency)
		latencies[to.name] = append(latencies[to.name], took...)
		return []measured{
			{to.rate(), rate}, {to.p50(), quantile(took, 0.5)}, {to.p99(), quantile(took, 0.99)},
			{to.p999(), quantile(took, 0.999)}, {to.sentLate(), quantile(r.Late, 0.99)},
		}, nil
	}}
}
