package race

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
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
			services[i], err = s.startService(ctx, side.Settings, r.Workload)
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
	outcome, err := s.judge(ctx, l.snapshot(), i, v, struck)
	if err != nil {
		return err
	}
	l.finish(i, outcome)
	return nil
}
