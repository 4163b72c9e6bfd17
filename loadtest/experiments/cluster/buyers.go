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
	replyLimit  = 20 * time.Second
)

// buyers claim one coupon, each for one user after the other. After a reply that
// leaves the outcome open a buyer claims again for the same user, as the API
// tells its clients to.
type buyers struct {
	trial.History
	client rig.Client
	signer rig.TokenSigner
	coupon int64
	beside trial.Load                // of who changes the coupon meanwhile; may be nil
	users  func(n int) int64         // the n-th user; nil: rig.UserID
	final  atomic.Pointer[time.Time] // since when sold_out ends the sale; nil: the coupon must not be sold out
	thin   bool                      // it may be for moments before
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

// sell sells a coupon before, during and after the fault. repaired returns when
// every server takes part again.
func (r *run) sell(
	ctx context.Context, f *fleet, coupon int64, one fault.Fault, repaired func() error,
) (*buyers, Outage, error) {
	b := &buyers{coupon: coupon}
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
		return nil, Outage{}, err
	}
	return b, outageOf(b.Claims(), course.Strikes[0].Span, course.End), nil
}

// play lets buyers buy at f while a schedule lasts, and until every user who has claimed
// has a verdict.
func (r *run) play(ctx context.Context, f *fleet, s trial.Schedule, all ...*buyers) (c trial.Course, err error) {
	var loads []trial.Load
	for _, b := range all {
		b.signer = r.stack.Signer()
		b.client = rig.NewClient("http://" + f.Address())
		b.client.HTTP.Timeout = replyLimit
		if b.users == nil {
			b.users = rig.UserID
		}
		loads = append(loads, trial.Clients(buyerCount/len(all), func(ctx context.Context, _ int) {
			for ctx.Err() == nil && !b.over.Load() {
				b.buyFor(ctx, b.users(int(b.count.Add(1))))
			}
		}))
		if b.beside != nil {
			loads = append(loads, b.beside)
		}
	}
	return s.Run(ctx, loads...)
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
	c := b.client.Claim(context.Background(), b.signer, rig.Claim{User: user, Coupon: b.coupon})
	b.Add(c)
	last := b.final.Load()
	switch {
	case c.Failed(), c.Verdict == "claim_in_progress":
		return false
	case c.Verdict == "sold_out" && last != nil && c.Sent.After(*last):
		b.over.Store(true)
	case c.Verdict == "sold_out" && b.thin:
	case c.Verdict != rig.Accepted && c.Verdict != "already_claimed":
		b.Violations.Add("user %d was told %s", user, c.Verdict)
	}
	return true
}

// awaitSales waits until each buyer, on average, has been accepted once more. It
// gives up after a minute.
func (b *buyers) awaitSales(ctx context.Context) error {
	begin := time.Now()
	for b.AcceptedSince(begin) < buyerCount {
		if !rig.Sleep(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
		if time.Since(begin) > time.Minute {
			return fmt.Errorf("not %d claims were accepted within a minute", buyerCount)
		}
	}
	return nil
}
