package cluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

const (
	buyerCount  = 64
	retryPause  = 100 * time.Millisecond
	settleLimit = 20 * time.Second // for the verdict of a claim when the sale is over
)

// buyers claim one coupon, each for one user after the other. After a reply that
// leaves the outcome open a buyer claims again for the same user, as the API
// tells its clients to.
type buyers struct {
	trial.History
	client trial.Client
	coupon int64
	users  func(n int) int64         // the n-th user
	thin   bool                      // the coupon may be sold out
	final  atomic.Pointer[time.Time] // since when that ends the sale; nil: it is for moments
	over   atomic.Bool
	count  atomic.Int64
}

// sellOut makes the first claim from now on that is refused as sold out end the sale.
func (b *buyers) sellOut() {
	now := time.Now()
	b.final.Store(&now)
}

// calm is how long a sale runs before a fault and after its healing.
const calm = 2 * time.Second

// sell sells b's coupon before, during and after the fault. repaired returns when
// every server takes part again.
func (r *run) sell(
	ctx context.Context, f *rig.Fleet, b *buyers, one fault.Fault, repaired func() error,
) (Outage, error) {
	course, err := r.play(ctx, f, trial.Schedule{
		Faults: []fault.Fault{one}, Rest: calm,
		Recovered: func(ctx context.Context, _ trial.Strike) error {
			if err := repaired(); err != nil {
				return err
			}
			return b.awaitSales(ctx)
		},
	}, b)
	if err != nil {
		return Outage{}, err
	}
	return outageOf(b.Claims(), course.Strikes[0].Span, course.End), nil
}

// play lets b buy at f while a schedule lasts, and until every user who has claimed
// has a verdict.
func (r *run) play(
	ctx context.Context, f *rig.Fleet, s trial.Schedule, b *buyers, beside ...trial.Load,
) (trial.Course, error) {
	b.client = trial.NewClient("nginx", f.Address(), r.stack.Signer(), &b.History)
	return s.Run(ctx, append(beside, trial.Clients(buyerCount, func(ctx context.Context, _ int) {
		for ctx.Err() == nil && !b.over.Load() {
			b.buyFor(ctx, b.users(int(b.count.Add(1))))
		}
	}))...)
}

// buyFor claims for user until there is a verdict. The sale is over when ctx ends.
func (b *buyers) buyFor(ctx context.Context, user int64) {
	var deadline time.Time
	for !b.claim(user) {
		time.Sleep(retryPause)
		switch {
		case ctx.Err() == nil:
		case deadline.IsZero():
			deadline = time.Now().Add(settleLimit)
		case time.Now().After(deadline):
			b.Violations.Add("user %d has no verdict %s after the sale", user, settleLimit)
			return
		}
	}
}

// claim claims once for user and reports whether the reply is final.
func (b *buyers) claim(user int64) (final bool) {
	c := b.client.Claim(context.Background(), rig.Claim{User: user, Coupon: b.coupon})
	switch last := b.final.Load(); {
	case c.Failed(), c.Verdict == "claim_in_progress":
		return false
	case c.Verdict == "sold_out" && b.thin:
		b.over.CompareAndSwap(false, last != nil && c.Sent.After(*last))
	case c.Verdict != rig.Accepted && c.Verdict != "already_claimed":
		b.Violations.Add("user %d was told %s", user, c.Verdict)
	}
	return true
}

// awaitSales waits until each buyer, on average, has been accepted once more. It
// gives up after a minute.
func (b *buyers) awaitSales(ctx context.Context) error {
	begin := time.Now()
	for acceptedBetween(b.Claims(), begin, time.Now()) < buyerCount {
		if !rig.Sleep(ctx, retryPause) {
			return ctx.Err()
		}
		if time.Since(begin) > time.Minute {
			return fmt.Errorf("not %d claims were accepted within a minute", buyerCount)
		}
	}
	return nil
}
