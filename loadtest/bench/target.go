package main

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/internal/order"
	"example.com/flashsale/loadtest/stack"
)

// A target is one server, or two behind nginx, with the sale behind it.
type target struct {
	name     string
	address  string // host:port
	sale     *stack.Sale
	instance *stack.Instance // nil behind nginx
}

const plenty = 100_000_000 // a stock that no run exhausts

// flow is one way to answer a claim.
type flow struct {
	name     string
	binary   string
	settings []string
}

func (b *bench) empty() flow { return flow{"empty", b.self, []string{"FLOW=empty"}} }

// byHand is the articles' flow without the service, with some techniques.
func (b *bench) byHand(name, techniques string) flow {
	return flow{name, b.self, []string{"FLOW=hand", "TECHNIQUES=" + techniques}}
}

func (b *bench) service(commit string, settings ...string) flow {
	return flow{commit, b.api, append([]string{"COMMIT=" + commit}, settings...)}
}

// direct starts one instance of f on a sale of its own.
func (b *bench) direct(ctx context.Context, f flow) (target, error) {
	sale, err := b.Sale(ctx, f.settings...)
	if err != nil {
		return target{}, err
	}
	i, err := sale.Instance(f.binary, "a")
	if err != nil {
		return target{}, fmt.Errorf("%s: %w", f.name, err)
	}
	return b.warm(ctx, target{f.name, i.Address, sale, i})
}

// behindNginx starts two.
func (b *bench) behindNginx(ctx context.Context, f flow) (target, error) {
	sale, err := b.Sale(ctx, f.settings...)
	if err != nil {
		return target{}, err
	}
	p, err := sale.Pair(f.binary)
	if err != nil {
		return target{}, fmt.Errorf("%s: %w", f.name, err)
	}
	return b.warm(ctx, target{f.name, p.Address(), sale, nil})
}

// warm lets connections, pools and heap grow before anything counts.
func (b *bench) warm(ctx context.Context, t target) (target, error) {
	b.progress("start %s", t.name)
	if _, err := b.win(ctx, t, crowd, time.Second, 1); err != nil {
		return t, fmt.Errorf("%s: %w", t.name, err)
	}
	return t, nil
}

// settle is for the claims that wrk leaves behind, one for each connection: they
// must burden neither the audit nor what is measured next.
const settle = 500 * time.Millisecond

// win claims from fresh coupons, all of which succeed, and compares what was
// promised with what the database has.
func (b *bench) win(ctx context.Context, t target, conns int, d time.Duration, coupons int) (load, error) {
	ids := make([]int64, coupons)
	for i := range ids {
		var err error
		if ids[i], err = t.sale.OnSale(ctx, plenty); err != nil {
			return load{}, err
		}
	}
	l, err := b.wrk.run(ctx, t.address, conns, d, ids...)
	if err != nil || t.name == "empty" {
		return l, err
	}
	time.Sleep(settle)
	if l.Laps > 0 {
		return l, fmt.Errorf("%d users are too few for this machine", people)
	}
	return l, t.audit(ctx, l, conns, ids)
}

// audit fails if an acknowledged order is missing, or if the stock and the
// orders do not add up. There may be more orders than promises: a claim that
// ran out of time may have been made, and wrk does not wait for its last ones.
func (t target) audit(ctx context.Context, l load, conns int, coupons []int64) error {
	store, orders := order.NewStore(t.sale.DB), 0
	for _, id := range coupons {
		a, err := store.Audit(ctx, id)
		if err != nil {
			return err
		}
		if a.Oversold() > 0 || a.Duplicates() > 0 || a.Stock+a.Orders != a.InitialStock {
			return fmt.Errorf("a promise is broken: %+v", a)
		}
		orders += a.Orders
	}
	if orders < l.accepted() || orders > l.Requests+conns {
		return fmt.Errorf("%d claims were acknowledged, %d orders are there", l.accepted(), orders)
	}
	return nil
}
