package bench

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// claims are accepted claims by commit strategy in a closed model, direct and
// through nginx, then refused claims, then latency in an open model.
var claims = section{
	name: "claims", measure: (*bench).measureClaims,
	tables: []table{
		{"claims", []string{
			"", "claims/s, one instance", "p99", "CPU of the service", "claims/s, two instances behind nginx", "p99",
		}, []row{
			claimsRow("empty handler", empty),
			claimsRow("baseline", byHand),
			claimsRow("`each`: the articles' flow in the service", each),
			claimsRow("`pessimistic`", pessimistic),
			claimsRow("`optimistic`", optimistic),
			claimsRow("**`grouped`**", grouped),
		}},
		{"refusals", []string{"", "replies/s", "p99"}, []row{
			rateRow("sold out", soldOut), rateRow("the user has an order already", alreadyClaimed),
		}},
		openModel,
	},
	limits: []limit{
		{"grouped / articles' flow, one instance", ratio(direct(grouped).figure, direct(each).figure), 12, atLeast},
		{"grouped / empty handler, one instance", ratio(direct(grouped).figure, direct(empty).figure), 0.38, atLeast},
		{"CPU time of the service for a claim, grouped / empty handler",
			ratio(direct(grouped).cpu(), direct(empty).cpu()), 2.8, atMost},
		{"grouped / articles' flow, two instances behind nginx",
			ratio(throughNginx(grouped).figure, throughNginx(each).figure), 7, atLeast},
		{"p99 of grouped at a quarter of its peak / of the empty handler at that rate",
			ratio(atQuarter(grouped).p99(), atQuarter(empty).p99()), 5, atMost},
		{"sold-out replies / empty handler", ratio(soldOut.figure, direct(empty).figure), 0.6, atLeast},
		{"articles' flow in the service / baseline", ratio(direct(each).figure, direct(byHand).figure), 0.85, atLeast},
	},
}

var (
	soldOut        = rateOf("losers/sold out")
	alreadyClaimed = rateOf("losers/already claimed")
)

func direct(v variant) rate       { return rateOf("claims/direct/%s", v.name) }
func throughNginx(v variant) rate { return rateOf("claims/nginx/%s", v.name) }

// strategies are the service with each setting of COMMIT.
var strategies = []variant{each, optimistic, pessimistic, grouped}

func claimsRow(label string, v variant) row {
	direct, nginx := direct(v), throughNginx(v)
	return row{label, []cell{
		spread(direct.figure), value(direct.p99()), value(direct.cpu()), spread(nginx.figure), value(nginx.p99()),
	}}
}

// rateRow is a row with a rate and its p99.
func rateRow(label string, r rate) row { return row{label, []cell{spread(r.figure), value(r.p99())}} }

func (b *bench) measureClaims(ctx context.Context) error {
	var all []measurement
	deployments := map[string]deployment{}
	for _, v := range append([]variant{empty, byHand}, strategies...) {
		d, err := b.direct(ctx, v)
		if err != nil {
			return err
		}
		deployments[v.name] = d
		all = append(all, b.acceptedClaims(direct(v), d, b.duration))
		if v.name == byHand.name {
			continue
		}
		if d, err = b.behindNginx(ctx, v); err != nil {
			return err
		}
		all = append(all, b.acceptedClaims(throughNginx(v), d, b.duration))
	}
	refused, err := b.refusedClaims(ctx, soldOut, alreadyClaimed, deployments[grouped.name])
	if err != nil {
		return err
	}
	if err := b.interleave(ctx, append(all, refused...)); err != nil {
		return err
	}
	return b.measureOpenModel(ctx, deployments[grouped.name], deployments[empty.name])
}

// acceptedClaims measures claims of a coupon that does not sell out, each by a
// user without an order.
func (b *bench) acceptedClaims(to rate, d deployment, duration time.Duration) measurement {
	return measurement{to.name, func(ctx context.Context) error {
		before := d.cpuTime()
		r, err := b.claim(ctx, d, defaultConns, duration, 1)
		if err != nil {
			return err
		}
		b.addRate(to, r, r.accepted)
		b.addCPU(to, d, before, r.requests())
		b.add(to.refused(), 100*float64(r.refused)/float64(r.requests()))
		return nil
	}}
}

// addRate adds n of the claims per second, and their p99.
func (b *bench) addRate(to rate, r loadResult, n int) {
	b.add(to.figure, r.perSecond(n))
	b.add(to.p99(), r.latency(0.99))
}

// refusedClaims measures claims of a coupon that is sold out, and claims by
// users who have an order already.
func (b *bench) refusedClaims(ctx context.Context, soldOut, alreadyClaimed rate, d deployment) ([]measurement, error) {
	none, err := d.sale.AddCoupon(ctx, 0)
	if err != nil {
		return nil, err
	}
	claimed, err := d.sale.AddCoupon(ctx, unlimitedStock)
	if err != nil {
		return nil, err
	}
	const withOrders = 20_000
	if err := d.sale.AddOrders(ctx, claimed, withOrders); err != nil {
		return nil, err
	}
	return []measurement{
		b.refusals(soldOut, "sold_out", d, b.users, none),
		b.refusals(alreadyClaimed, "already_claimed", d, b.users.First(withOrders), claimed),
	}, nil
}

func (b *bench) refusals(to rate, code string, d deployment, users rig.Users, coupon int64) measurement {
	return measurement{to.name, func(ctx context.Context) error {
		if err := b.checkCode(ctx, d, coupon, code); err != nil {
			return err
		}
		before := d.cpuTime()
		r, err := load{address: d.address, coupons: []int64{coupon}, users: users,
			conns: defaultConns}.run(ctx, b.duration)
		if err != nil {
			return err
		}
		b.addCPU(to, d, before, r.requests())
		if r.accepted > 0 {
			return fmt.Errorf("%d claims were accepted, want none", r.accepted)
		}
		b.addRate(to, r, r.refused)
		return b.checkCode(ctx, d, coupon, code)
	}}
}

// checkCode claims once and returns an error unless the reply is a conflict
// with code. A load only distinguishes 2xx from the rest.
func (b *bench) checkCode(ctx context.Context, d deployment, coupon int64, code string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+d.address+fmt.Sprintf("/coupons/%d/orders", coupon), http.NoBody)
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
