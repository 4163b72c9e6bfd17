package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/loadtest/stack"
)

// claims measures the ways to commit: winners in a closed model, direct and
// through nginx, then losers, then latency in an open model.
func (b *bench) claims(ctx context.Context) error {
	flows := []flow{b.empty(), b.byHand("by hand", interpolate)}
	for _, commit := range commits {
		flows = append(flows, b.service(commit))
	}
	var cells []cell
	targets := map[string]target{}
	for _, f := range flows {
		t, err := b.direct(ctx, f)
		if err != nil {
			return err
		}
		targets[f.name] = t
		cells = append(cells, b.winners("claims/direct/", t, b.spell))
		if f.name == "by hand" {
			continue
		}
		if t, err = b.behindNginx(ctx, f); err != nil {
			return err
		}
		cells = append(cells, b.winners("claims/nginx/", t, b.spell))
	}
	losers, err := b.losers(ctx, targets["grouped"])
	if err != nil {
		return err
	}
	if err := b.turns(ctx, append(cells, losers...)); err != nil {
		return err
	}
	return b.latency(ctx, targets["grouped"], targets["empty"])
}

var commits = []string{"each", "optimistic", "pessimistic", "grouped"}

func (b *bench) winners(prefix string, t target, d time.Duration) cell {
	name := prefix + t.name
	return cell{name, func(ctx context.Context) error {
		l, err := b.win(ctx, t, crowd, d, 1)
		if err != nil {
			return err
		}
		b.Add(name, "1/s", l.perSecond(l.accepted()))
		b.Add(name+" p99", "ms", float64(l.P99US)/1000)
		b.Add(name+" refused", "%", 100*float64(l.Refused)/float64(l.Requests))
		return nil
	}}
}

// losers are those who get no coupon: it is sold out, or they have one.
func (b *bench) losers(ctx context.Context, t target) ([]cell, error) {
	soldOut, err := t.sale.OnSale(ctx, 0)
	if err != nil {
		return nil, err
	}
	claimed, err := t.sale.OnSale(ctx, plenty)
	if err != nil {
		return nil, err
	}
	few := *b.wrk // whose users all have one
	few.headers.Count = 20_000
	if err := t.sale.Sell(ctx, claimed, few.headers.Count); err != nil {
		return nil, err
	}
	return []cell{
		b.refusals("losers/sold out", "sold_out", t, b.wrk, soldOut),
		b.refusals("losers/already claimed", "already_claimed", t, &few, claimed),
	}, nil
}

func (b *bench) refusals(name, verdict string, t target, w *wrk, coupon int64) cell {
	return cell{name, func(ctx context.Context) error {
		if err := b.expect(ctx, t, coupon, verdict); err != nil {
			return err
		}
		l, err := w.run(ctx, t.address, crowd, b.spell, coupon)
		if err != nil {
			return err
		}
		if l.accepted() > 0 {
			return fmt.Errorf("%d claims succeeded that could not", l.accepted())
		}
		b.Add(name, "1/s", l.perSecond(l.Refused))
		b.Add(name+" p99", "ms", float64(l.P99US)/1000)
		return b.expect(ctx, t, coupon, verdict)
	}}
}

// expect fails unless a claim gets this verdict: wrk only tells 2xx from 4xx.
func (b *bench) expect(ctx context.Context, t target, coupon int64, verdict string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+t.address+claimPath(coupon), http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+b.Mint().Token(stack.User(0)))
	req.Header.Set("X-User", strconv.FormatInt(stack.User(0), 10))
	status, body, err := stack.Answer(http.DefaultClient, req)
	if err == nil && (status != http.StatusConflict || !strings.Contains(body, `"`+verdict+`"`)) {
		err = fmt.Errorf("want %s, got %d: %s", verdict, status, body)
	}
	return err
}

// latency lets claims arrive at half the rate that grouped has just reached at
// its best, at it and at the empty handler.
func (b *bench) latency(ctx context.Context, grouped, empty target) error {
	rate := b.Median("claims/direct/grouped") / 2
	var cells []cell
	for _, t := range []target{empty, grouped} {
		cells = append(cells, b.arrivals("open/"+t.name, t, rate))
	}
	return b.turns(ctx, cells)
}

func (b *bench) arrivals(name string, t target, rate float64) cell {
	return cell{name, func(ctx context.Context) error {
		coupon, err := t.sale.OnSale(ctx, plenty)
		if err != nil {
			return err
		}
		a := arrivals{address: t.address, coupon: coupon, rate: rate, conns: crowd}
		out, err := a.run(ctx, b.wrk.headers, b.spell)
		if err != nil {
			return err
		}
		if out.refused > 0 {
			return fmt.Errorf("%d of %d claims refused", out.refused, out.refused+out.accepted)
		}
		b.Add(name+" rate", "1/s", rate)
		for _, q := range []struct {
			name string
			of   []time.Duration
			at   float64
		}{
			{" p50", out.latency, 0.5}, {" p99", out.latency, 0.99}, {" p99.9", out.latency, 0.999},
			{" sent late p99", out.late, 0.99},
		} {
			b.Add(name+q.name, "ms", float64(quantile(q.of, q.at))/float64(time.Millisecond))
		}
		return nil
	}}
}
