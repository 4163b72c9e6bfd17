package race

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/loadtest/rig"
)

const sampleInterval = 10 * time.Millisecond

// record sends the burst to a service, and records what happens on a side until the last
// reply. It returns the fault that struck, if one did.
func record(ctx context.Context, l *live, side int, v *service, b burst) (*Struck, error) {
	sample := func(ctx context.Context) error {
		s, err := v.sample(ctx)
		if err == nil {
			l.addSample(side, s)
		}
		return err
	}
	running, finish := context.WithCancel(ctx)
	var recording errgroup.Group
	var barrier time.Time
	err := b.send(ctx, func() {
		barrier = time.Now()
		l.begin(side, barrier)
		recording.Go(func() error {
			for running.Err() == nil {
				_ = sample(running) // the last one counts
				rig.Sleep(running, sampleInterval)
			}
			return nil
		})
		for i := range v.Instances {
			recording.Go(func() error {
				return v.readSections(ctx, running, i, func(s Section) { l.addSection(side, s) })
			})
		}
	}, func(c Claim) { l.addClaim(side, c) })
	finish()
	err = errors.Join(err, recording.Wait(), sample(ctx))
	if v.struck != nil {
		v.struck.From, v.struck.To = v.struck.From-barrier.UnixMicro(), v.struck.To-barrier.UnixMicro()
	}
	return v.struck, err
}

// sample reads stock and orders from the database, in one statement, so that
// both are of the same moment.
func (v *service) sample(ctx context.Context) (s Sample, err error) {
	const q = `SELECT ` + rig.StockColumn + `,
		(SELECT COUNT(*) FROM coupon_orders o WHERE o.coupon_id = c.id) FROM coupons c WHERE c.id = ?`
	err = v.DB.QueryRowContext(ctx, q, v.coupon).Scan(&s.Stock, &s.Orders)
	s.T = time.Now().UnixMicro()
	return s, err
}
