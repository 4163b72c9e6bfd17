package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/shop"
)

// Burst is the rig.Generator that sends all claims at one moment, each on a connection
// of its own that is open before.
func Burst(ctx context.Context, _ string, t rig.Target, w rig.Workload) (rig.Burst, error) {
	n := w.BurstSize()
	return send(ctx, t, w, n, generator.Phase{Clients: n, Count: n})
}

// Open is the rig.Generator that sends claims at the rate of the shop's open loop.
func Open(ctx context.Context, _ string, t rig.Target, w rig.Workload) (rig.Burst, error) {
	return send(ctx, t, w, 0, generator.Phase{Rate: t.Shop.OpenLoop.Rate, Count: w.BurstSize()})
}

// underFault is Open with a fault from a quarter of its time on.
func underFault(f shop.Fault) rig.Generator {
	return func(ctx context.Context, dir string, t rig.Target, w rig.Workload) (rig.Burst, error) {
		struck := make(chan error, 1)
		go func() { struck <- f.Strike(ctx, t.Shop.OpenLoop.Duration/4) }()
		b, err := Open(ctx, dir, t, w)
		return b, errors.Join(err, <-struck)
	}
}

// send opens connections, sends the claims of p, and waits for all replies.
func send(
	ctx context.Context, t rig.Target, w rig.Workload, connections int, p generator.Phase,
) (b rig.Burst, err error) {
	base, err := url.Parse(t.URL)
	if err != nil {
		return b, err
	}
	address, err := addressOf(base)
	if err != nil {
		return b, err
	}
	var moment time.Time
	g, err := generator.New(address, t.Shop.Timeout, func(to []byte, n int) []byte {
		u := t.Users[n%w.Users]
		return t.Shop.Claim.Append(to, base, shop.Values{"user": u.ID, "token": u.Token, "coupon": t.Coupons[0]})
	}, func(r generator.Reply) {
		c := claimOf(t.Shop, t.Users[r.Request%w.Users], r)
		b.Claims = append(b.Claims, c)
		b.Spans = append(b.Spans, rig.Span{Sent: c.Sent, Received: c.Received})
		b.Skews = append(b.Skews, r.Sent.Sub(moment))
	})
	if err != nil {
		return b, err
	}
	defer g.Close()
	if err := g.Connect(ctx, connections); err != nil {
		return b, fmt.Errorf("before the first claim: %w", err)
	}
	moment = time.Now()
	g.Run(ctx, p)
	g.Drain(ctx)
	return b, ctx.Err()
}

// addressOf returns the IPv4 address and the port of a URL.
func addressOf(base *url.URL) (string, error) {
	address, err := net.ResolveTCPAddr("tcp4", net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), "80")))
	if err != nil {
		return "", err
	}
	return address.String(), nil
}

func claimOf(s *shop.Shop, u shop.User, r generator.Reply) rig.Claim {
	outcome, order := shop.Unknown, ""
	if r.Err == nil {
		outcome, order = s.Reply.Read(r.Status, r.Body)
	}
	id, _ := strconv.ParseInt(u.ID, 10, 64) // it was made from a number
	c := rig.Claim{
		User: id, Sent: r.Due, Received: r.Received, Verdict: string(outcome), Order: order,
		Instance: cmp.Or(r.Instance, "shop"),
	}
	switch {
	case r.Err != nil:
		c.Detail = "no reply: " + r.Err.Error()
	case outcome == shop.Unknown:
		c.Detail = fmt.Sprintf("status %d", r.Status)
	}
	return c
}

// details counts why outcomes are unknown, the most frequent reasons first.
func details(claims []rig.Claim) (reasons []string) {
	counts := map[string]int{}
	for _, c := range claims {
		if c.Verdict == string(shop.Unknown) {
			counts[c.Detail]++
		}
	}
	most := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b))
	})
	for _, reason := range most {
		reasons = append(reasons, fmt.Sprintf("%d × %s", counts[reason], reason))
	}
	return reasons
}
