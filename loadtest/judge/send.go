package judge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

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
		var striking sync.WaitGroup
		var struck error
		before := t.AtBurst
		t.AtBurst = func() {
			before()
			striking.Go(func() { struck = f.Strike(ctx, t.Shop.OpenLoop.Duration/4) })
		}
		b, err := Open(ctx, dir, t, w)
		striking.Wait()
		return b, errors.Join(err, struck)
	}
}

// send opens connections, sends the claims of p, and waits for all replies. If a claim
// has steps, those before the burst have been taken then, and those after it follow.
func send(
	ctx context.Context, t rig.Target, w rig.Workload, connections int, p generator.Phase,
) (b rig.Burst, err error) {
	sessions, err := t.Shop.Sessions(ctx, t.Users[:w.Users], w.BurstSize(), t.Coupons[0])
	if err != nil {
		return b, err
	}
	address, err := shop.Address(t.URL)
	if err != nil {
		return b, err
	}
	requests := make([][]byte, w.BurstSize())
	for n := range requests {
		requests[n] = sessions[n%len(sessions)].Request(w.Number(n), connections > n)
	}
	var answers []answer
	g, err := generator.New(address, t.Shop.Timeout,
		func(to []byte, n int) []byte { return append(to, requests[n]...) },
		func(r generator.Reply) {
			a := answerOf(sessions[r.Request%len(sessions)], r, t.Shop.Plain())
			if a.number = w.Number(r.Request); t.Shop.Numbered() {
				a.claim.Number = a.number
			}
			answers = append(answers, a)
		})
	if err != nil {
		return b, err
	}
	defer g.Close()
	if err := g.Connect(ctx, connections); err != nil {
		return b, fmt.Errorf("before the first claim: %w", err)
	}
	if t.AtBurst != nil {
		t.AtBurst()
	}
	g.Run(ctx, p)
	g.Drain(ctx)
	b.Claims = finish(ctx, t.Shop, answers)
	return b, ctx.Err()
}

// An answer is what was replied to the burst of a session.
type answer struct {
	session *shop.Session
	number  int       // which of its user's orders the claim is for
	claim   rig.Claim // without what the reply says
	reply   shop.Reply
	err     error // why there is none
}

// answerOf copies r. Where a claim is plain, nothing looks at its header.
func answerOf(s *shop.Session, r generator.Reply, plain bool) answer {
	id, _ := strconv.ParseInt(s.ID, 10, 64) // it was made from a number
	a := answer{
		session: s, reply: shop.Reply{Status: r.Status, Body: bytes.Clone(r.Body)}, err: r.Err,
		claim: rig.Claim{User: id, Sent: r.Due, Received: r.Received, Instance: cmp.Or(r.Instance, "shop")},
	}
	if !plain {
		a.reply.Header = r.Header()
	}
	return a
}

// atATime bounds the connections of the steps after the burst, below spareFiles.
const atATime = 200

// finish takes the steps after the burst, and reads the last reply of each session.
func finish(ctx context.Context, s *shop.Shop, answers []answer) []rig.Claim {
	claims := make([]rig.Claim, len(answers))
	var group errgroup.Group
	group.SetLimit(atATime)
	for i, a := range answers {
		group.Go(func() error { claims[i] = a.read(ctx, s); return nil })
	}
	_ = group.Wait()
	return claims
}

func (a answer) read(ctx context.Context, s *shop.Shop) rig.Claim {
	c := a.claim
	if a.err == nil {
		a.reply, a.err = a.session.Finish(ctx, a.reply, a.number)
	}
	if a.err != nil {
		c.Verdict, c.Detail = shop.Unknown, "no reply: "+a.err.Error()
		return c
	}
	c.Read(s, a.reply)
	return c
}

// reason returns why a claim was not accepted, in few words, and what was said. k6 says so of unknown outcomes only.
func reason(c rig.Claim) (short, said string) {
	short, said, _ = strings.Cut(c.Detail, "\n")
	return short, said
}

// details counts the reasons of an outcome, the most frequent first, each with what was said first.
func details(claims []rig.Claim, outcome string) (reasons []string) {
	counts, first := map[string]int{}, map[string]string{}
	for _, c := range claims {
		if short, said := reason(c); c.Verdict == outcome && short != "" {
			counts[short]++
			first[short] = cmp.Or(first[short], said)
		}
	}
	most := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b))
	})
	for _, short := range most {
		reasons = append(reasons, strings.TrimSpace(fmt.Sprintf("%d × %s %s", counts[short], short, first[short])))
	}
	return reasons
}
