package bench

import (
	"context"
	"os"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/report"
)

// claims are accepted claims by commit strategy in a closed model, direct and
// through nginx, then refused claims, then latency in an open model.
var claims = section{
	name: "claims", prepare: prepareClaims,
	tables: []table{
		{"claims", []string{
			"", "CPU for a claim, one instance", "of the empty handler's", "of all processes",
			"claims/s, one instance", "p99",
			"claims/s, two instances behind nginx", "p99",
		}, []row{
			claimsRow("empty handler", empty),
			claimsRow("baseline", byHand),
			claimsRow("`each`: the articles' flow in the service", each),
			claimsRow("`pessimistic`", pessimistic),
			claimsRow("`optimistic`", optimistic),
			claimsRow("**`grouped`**", grouped),
		}},
		{"refusals", []string{"", "CPU for a claim", "replies/s", "p99"}, []row{
			rateRow("sold out", soldOut), rateRow("the user has an order already", alreadyClaimed),
		}},
		openModel,
	},
	limits: []limit{
		{"grouped / articles' flow, one instance",
			ratio(oneInstanceRate(grouped).figure, oneInstanceRate(each).figure), 12, atLeast},
		{"grouped / empty handler, one instance",
			ratio(oneInstanceRate(grouped).figure, oneInstanceRate(empty).figure), 0.38, atLeast},
		{"CPU time of the service for a claim, grouped / empty handler",
			ratio(oneInstanceRate(grouped).cpu(), oneInstanceRate(empty).cpu()), 2.8, atMost},
		{"CPU time of all processes for a claim (µs)", of(oneInstanceRate(grouped).machineCPU()), 80, atMost},
		{"grouped / articles' flow, two instances behind nginx",
			ratio(pairRate(grouped).figure, pairRate(each).figure), 7, atLeast},
		{"p99 of grouped at a quarter of its peak / of the empty handler at that rate",
			ratio(atQuarter(grouped).p99(), atQuarter(empty).p99()), 5, atMost},
		{"p99 of grouped at a quarter of its peak / of the least durable claim",
			ratio(atQuarter(grouped).p99(), atQuarter(floor).p99()), 2, atMost},
		{"sold-out replies / empty handler", ratio(soldOut.figure, oneInstanceRate(empty).figure), 0.65, atLeast},
		{"articles' flow in the service / baseline",
			ratio(oneInstanceRate(each).figure, oneInstanceRate(byHand).figure), 0.85, atLeast},
	},
}

var (
	soldOut        = rateOf("losers/sold out")
	alreadyClaimed = rateOf("losers/already claimed")
)

func oneInstanceRate(v variant) rate { return rateOf("claims/direct/%s", v.name) }
func pairRate(v variant) rate        { return rateOf("claims/nginx/%s", v.name) }

// strategies are the service with each setting of COMMIT.
var strategies = []variant{each, optimistic, pessimistic, grouped}

func claimsRow(label string, v variant) row {
	direct, nginx := oneInstanceRate(v), pairRate(v)
	return row{label, []cell{
		cpu(direct), times(direct.cpu(), oneInstanceRate(empty).cpu()), spread(direct.machineCPU()),
		spread(direct.figure), value(direct.p99()), spread(nginx.figure), value(nginx.p99()),
	}}
}

// cpu is the CPU time of the service for a claim, which the noise of a machine changes
// less than a rate.
func cpu(r rate) cell {
	return func(all Figures) string {
		if all.find(r.cpu().name) == nil {
			return report.NotMeasured
		}
		return spread(r.cpu())(all) + " " + r.cpu().unit
	}
}

// rateRow is a row with the CPU time for a claim, a rate and its p99.
func rateRow(label string, r rate) row {
	return row{label, []cell{cpu(r), spread(r.figure), value(r.p99())}}
}

func prepareClaims(ctx context.Context, b *bench) ([]turns, error) {
	var all []measurement
	deployments := map[string]deployment{}
	load := closed(defaultConns, b.duration)
	for _, v := range append([]variant{empty, byHand}, strategies...) {
		d, err := b.startOne(ctx, v)
		if err != nil {
			return nil, err
		}
		d.others = []int{b.MySQL.PID(), b.Redis.PID(), os.Getpid()}
		deployments[v.name] = d
		all = append(all, accepted(oneInstanceRate(v), d, load, 1, 1))
		if v.name == byHand.name {
			continue
		}
		if d, err = b.startPair(ctx, v, lab.StartNginx); err != nil {
			return nil, err
		}
		all = append(all, accepted(pairRate(v), d, load, 1, 1))
	}
	refusals, err := refusedClaims(ctx, soldOut, alreadyClaimed, deployments[grouped.name], load)
	if err != nil {
		return nil, err
	}
	if deployments[floor.name], err = b.startOne(ctx, floor); err != nil {
		return nil, err
	}
	var open []measurement
	for _, v := range []variant{empty, floor, grouped} {
		for _, a := range []arrivals{atHalf(v), atQuarter(v)} {
			rate := func() float64 { return b.median(oneInstanceRate(grouped).figure) * a.share }
			open = append(open, arriving(a, deployments[v.name], rate, b.duration, b.latencies))
		}
	}
	return []turns{{b.repetitions, append(all, refusals...)}, {b.repetitions, open}}, nil
}

// refusedClaims measures claims of a coupon that is sold out, and claims by
// users who have an order already.
func refusedClaims(
	ctx context.Context, soldOut, alreadyClaimed rate, d deployment, l clients.Load,
) ([]measurement, error) {
	none, err := d.sale.AddCoupon(ctx, 0)
	if err != nil {
		return nil, err
	}
	claimed, err := d.sale.AddCoupon(ctx, unlimitedStock)
	if err != nil {
		return nil, err
	}
	winners := d
	winners.headers.Count = 20_000
	return []measurement{
		refused(soldOut, "sold_out", d, l, none), refused(alreadyClaimed, "already_claimed", winners, l, claimed),
	}, d.sale.AddOrders(ctx, claimed, winners.headers.Count)
}

// openModel is the latency of claims that arrive at a fixed rate, beside that of a
// server that replies at once, and of one that only waits as long as a claim must.
var openModel = table{"open model", []string{"", "arrivals/s", "p50", "p99, ms", "p99.9", "sent late, p99"}, []row{
	openRow("empty handler", atQuarter(empty)), openRow("the least durable claim", atQuarter(floor)),
	openRow("`grouped`", atQuarter(grouped)),
	openRow("empty handler", atHalf(empty)), openRow("the least durable claim", atHalf(floor)),
	openRow("`grouped`", atHalf(grouped)),
}}

// arrivals are the latencies of claims that arrive at a share of the highest rate
// that grouped has reached in this run.
type arrivals struct {
	figure
	share float64
}

func atHalf(v variant) arrivals    { return arrivals{figure{"open/" + v.name, ""}, 0.5} }
func atQuarter(v variant) arrivals { return arrivals{figure{"open/quarter/" + v.name, ""}, 0.25} }

func (a arrivals) rate() figure     { return a.with("rate", "1/s") }
func (a arrivals) p50() figure      { return a.with("p50", "ms") }
func (a arrivals) p99() figure      { return a.with("p99", "ms") }
func (a arrivals) p999() figure     { return a.with("p99.9", "ms") }
func (a arrivals) sentLate() figure { return a.with("sent late p99", "ms") }

func openRow(label string, a arrivals) row {
	return row{label, []cell{number(a.rate()), value(a.p50()), spread(a.p99()), value(a.p999()), value(a.sentLate())}}
}
