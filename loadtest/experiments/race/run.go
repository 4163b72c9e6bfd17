package race

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/loadtest/rig"
)

// run runs a race: it starts the services, then sends the burst to one after the
// other, because two bursts at once would slow each other down. It returns the
// services, which it leaves running, also with an error.
func (s *session) run(ctx context.Context, l *live) (services []*service, err error) {
	l.enter(Starting, "servers")
	r := l.snapshot()
	services = make([]*service, len(r.Sides))
	var starting errgroup.Group
	for i, side := range r.Sides {
		starting.Go(func() (err error) {
			services[i], err = s.servers.start(ctx, side.Settings, r.Workload)
			return err
		})
	}
	err = starting.Wait()
	for i := 0; err == nil && i < len(services); i++ {
		if err = s.runSide(ctx, l, i, services[i]); err != nil {
			err = fmt.Errorf("side %d: %w", i, err)
		}
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return services, err
}

func stopAll(services []*service) {
	for _, v := range services {
		if v != nil {
			_ = v.stop() // what does not stop is killed, and its database ends with the lab
		}
	}
}

// runSide sends the burst to a service and publishes the result.
func (s *session) runSide(ctx context.Context, l *live, i int, v *service) error {
	l.enter(Running, fmt.Sprintf("claims_%d", i))
	b := burst{v.Address(), v.coupon, s.stack.Signer(), l.snapshot().Workload}
	struck, err := record(ctx, l, i, v, b)
	if err != nil {
		return err
	}
	l.enter(Running, fmt.Sprintf("audit_%d", i))
	result, err := s.judge(ctx, l.snapshot(), i, v, struck)
	if err != nil {
		return err
	}
	l.finish(result)
	return nil
}

const sampleInterval = 10 * time.Millisecond

// record sends the burst to a service, and records what happens on a side until the last
// reply. It returns the fault that struck, if one did.
func record(ctx context.Context, l *live, side int, v *service, b burst) (*Struck, error) {
	sections, err := readSections(ctx, v.Instances, func(s Section) { l.addSection(side, s) },
		func(instance int) { v.striker.strike(ctx, instance) })
	if err != nil {
		return nil, err
	}
	defer sections.stop()
	sample := func(ctx context.Context) error {
		s, err := v.sample(ctx)
		if err == nil {
			l.addSample(side, s)
		}
		return err
	}
	running, finish := context.WithCancel(ctx)
	var sampling sync.WaitGroup
	var barrier time.Time
	err = b.send(ctx, func() {
		barrier = time.Now()
		l.begin(side, barrier)
		sampling.Go(func() {
			for running.Err() == nil {
				_ = sample(running) // the last one counts
				rig.Sleep(running, sampleInterval)
			}
		})
	}, func(c Claim) { l.addClaim(side, c) })
	finish()
	sampling.Wait()
	struck, faultErr := v.striker.wait(barrier)
	return struck, errors.Join(err, faultErr, sample(ctx), sections.complete(ctx))
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
