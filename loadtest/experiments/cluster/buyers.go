package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/history"
	"example.com/flashsale/loadtest/rig"
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
	*history.History
	violations history.Violations
	client     *generator.Client
	signer     rig.TokenSigner
	coupon     int64
	users      atomic.Int64
	over       context.Context // ends with the sale
	end        context.CancelFunc
	wg         sync.WaitGroup
}

// startBuyers starts the buyers of a coupon at f.
func (r *run) startBuyers(f *fleet, coupon int64) (*buyers, error) {
	client, err := generator.NewClient(f.Address(), replyLimit)
	if err != nil {
		return nil, err
	}
	b := &buyers{History: history.New(), client: client, signer: r.stack.Signer(), coupon: coupon}
	b.over, b.end = context.WithCancel(context.Background())
	for range buyerCount {
		b.wg.Go(func() {
			for b.over.Err() == nil {
				b.buyFor(rig.UserID(int(b.users.Add(1))))
			}
		})
	}
	return b, nil
}

// stop ends the sale. It returns when every user who has claimed has a verdict.
func (b *buyers) stop() {
	b.end()
	b.wg.Wait()
	b.client.Close()
}

// buyFor claims for user until there is a verdict.
func (b *buyers) buyFor(user int64) {
	var deadline time.Time
	for !b.claim(user) {
		time.Sleep(retryPause)
		switch {
		case b.over.Err() == nil:
		case deadline.IsZero():
			deadline = time.Now().Add(settleLimit)
		case time.Now().After(deadline):
			b.violations.Add("user %d has no verdict %s after the sale", user, settleLimit)
			return
		}
	}
}

// claim claims once for user and reports whether the reply is final.
func (b *buyers) claim(user int64) (final bool) {
	c := b.client.Claim(context.Background(), b.signer, user, b.coupon)
	if err := b.Add(c); err != nil {
		b.violations.Add("%v", err)
	}
	switch {
	case c.Failed(), c.Verdict == "claim_in_progress":
		return false
	case c.Verdict != rig.Accepted && c.Verdict != "already_claimed":
		b.violations.Add("user %d was told %s", user, c.Verdict)
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

// calm is how long a sale runs before a fault and after its healing.
const calm = 2 * time.Second

// sell sells a coupon before, during and after the fault. repaired returns when
// every server takes part again.
func (r *run) sell(
	ctx context.Context, f *fleet, coupon int64, fault fault.Fault, repaired func() error,
) (*buyers, Outage, error) {
	b, err := r.startBuyers(f, coupon)
	if err != nil {
		return nil, Outage{}, err
	}
	defer b.stop()
	rig.Sleep(ctx, calm)
	struck, healed, err := fault.Inject(ctx)
	if err == nil {
		err = repaired()
	}
	if err == nil {
		err = b.awaitSales(ctx)
	}
	if err != nil {
		return nil, Outage{}, err
	}
	rig.Sleep(ctx, calm)
	end := time.Now()
	b.stop()
	return b, outageOf(b.Claims(), history.Span{Begin: struck, End: healed}, end), ctx.Err()
}
