package bench

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// claims measures the commit strategies: accepted claims in a closed model,
// direct and through nginx, then refused claims, then latency in an open model.
func (b *bench) claims(ctx context.Context) error {
	variants := []variant{emptyVariant(), baselineVariant("by hand", interpolate)}
	for _, commit := range commits {
		variants = append(variants, serviceVariant(commit))
	}
	var all []measurement
	deployments := map[string]deployment{}
	for _, v := range variants {
		d, err := b.direct(ctx, v)
		if err != nil {
			return err
		}
		deployments[v.name] = d
		all = append(all, b.acceptedClaims("claims/direct/", d, b.duration))
		if v.name == "by hand" {
			continue
		}
		if d, err = b.behindNginx(ctx, v); err != nil {
			return err
		}
		all = append(all, b.acceptedClaims("claims/nginx/", d, b.duration))
	}
	refused, err := b.refusedClaims(ctx, "losers/", deployments["grouped"])
	if err != nil {
		return err
	}
	if err := b.interleave(ctx, append(all, refused...)); err != nil {
		return err
	}
	return b.openModel(ctx, deployments["grouped"], deployments["empty"])
}

// commits are the values of COMMIT.
var commits = []string{"each", "optimistic", "pessimistic", "grouped"}

// acceptedClaims measures claims of a coupon that does not sell out, each by a
// user without an order.
func (b *bench) acceptedClaims(prefix string, d deployment, duration time.Duration) measurement {
	name := prefix + d.name
	return measurement{name, func(ctx context.Context) error {
		before := d.cpuTime()
		r, err := b.claim(ctx, d, defaultConns, duration, 1)
		if err != nil {
			return err
		}
		b.Add(name, "1/s", r.perSecond(r.accepted()))
		b.Add(name+" p99", "ms", float64(r.P99US)/1000)
		b.addCPU(name, d, before, r.Requests)
		b.Add(name+" refused", "%", 100*float64(r.Refused)/float64(r.Requests))
		return nil
	}}
}

// refusedClaims measures claims of a coupon that is sold out, and claims by
// users who have an order already.
func (b *bench) refusedClaims(ctx context.Context, prefix string, d deployment) ([]measurement, error) {
	soldOut, err := d.sale.AddCoupon(ctx, 0)
	if err != nil {
		return nil, err
	}
	claimed, err := d.sale.AddCoupon(ctx, unlimitedStock)
	if err != nil {
		return nil, err
	}
	withOrders := *b.wrk // all its users have an order
	withOrders.headers.Count = 20_000
	if err := d.sale.AddOrders(ctx, claimed, withOrders.headers.Count); err != nil {
		return nil, err
	}
	return []measurement{
		b.refusals(prefix+"sold out", "sold_out", d, b.wrk, soldOut),
		b.refusals(prefix+"already claimed", "already_claimed", d, &withOrders, claimed),
	}, nil
}

func (b *bench) refusals(name, code string, d deployment, w *wrk, coupon int64) measurement {
	return measurement{name, func(ctx context.Context) error {
		if err := b.checkCode(ctx, d, coupon, code); err != nil {
			return err
		}
		before := d.cpuTime()
		r, err := w.run(ctx, d.address, defaultConns, b.duration, coupon)
		if err != nil {
			return err
		}
		b.addCPU(name, d, before, r.Requests)
		if r.accepted() > 0 {
			return fmt.Errorf("%d claims were accepted, want none", r.accepted())
		}
		b.Add(name, "1/s", r.perSecond(r.Refused))
		b.Add(name+" p99", "ms", float64(r.P99US)/1000)
		return b.checkCode(ctx, d, coupon, code)
	}}
}

// checkCode claims once and returns an error unless the reply is a conflict
// with code. wrk itself only distinguishes 2xx from the rest.
func (b *bench) checkCode(ctx context.Context, d deployment, coupon int64, code string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+d.address+claimPath(coupon), http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+b.Signer().User(rig.UserID(0)))
	req.Header.Set("X-User", strconv.FormatInt(rig.UserID(0), 10))
	status, body, err := rig.Send(http.DefaultClient, req)
	if err == nil && (status != http.StatusConflict || !strings.Contains(string(body), `"`+code+`"`)) {
		err = fmt.Errorf("want %s, got %d: %s", code, status, body)
	}
	return err
}

// openModel measures the latency of claims that arrive at a fixed rate: half, and
// a quarter, of the highest rate that grouped has reached in this run.
func (b *bench) openModel(ctx context.Context, grouped, empty deployment) error {
	peak := b.Median("claims/direct/grouped")
	var all []measurement
	for _, d := range []deployment{empty, grouped} {
		all = append(all, b.latency("open/"+d.name, d, peak/2), b.latency("open/quarter/"+d.name, d, peak/4))
	}
	return b.interleave(ctx, all)
}

func (b *bench) latency(name string, d deployment, rate float64) measurement {
	return measurement{name, func(ctx context.Context) error {
		coupon, err := d.sale.AddCoupon(ctx, unlimitedStock)
		if err != nil {
			return err
		}
		load := openLoad{address: d.address, coupon: coupon, rate: rate, conns: defaultConns}
		r, err := load.run(ctx, b.wrk.headers, b.duration)
		if err != nil {
			return err
		}
		if r.refused > 0 {
			return fmt.Errorf("%d of %d claims refused", r.refused, r.refused+r.accepted)
		}
		b.latencies[name] = append(b.latencies[name], r.latencies...)
		b.Add(name+" rate", "1/s", rate)
		for _, q := range []struct {
			name     string
			samples  []time.Duration
			fraction float64
		}{
			{" p50", r.latencies, 0.5}, {" p99", r.latencies, 0.99}, {" p99.9", r.latencies, 0.999},
			{" sent late p99", r.sendDelays, 0.99},
		} {
			b.Add(name+q.name, "ms", float64(stats.Quantile(q.samples, q.fraction))/float64(time.Millisecond))
		}
		return nil
	}}
}
