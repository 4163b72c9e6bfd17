// Package soak runs a sale for minutes while its parts fail, and fails if a
// promise is broken, a claim gets no reply in time or a coupon does not sell again
// soon. Mixed users claim from coupons that open, sell out and are restocked. The
// instances, the database and Redis are killed, suspended and partitioned in turn.
// Then hostile clients occupy nginx and the instances. The database is audited
// throughout.
package soak

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/history"
	"example.com/flashsale/loadtest/rig"
)

// Run runs the soak for as long as SOAK says (5m), prints a table and writes
// out/soak/soak.json.
func Run(ctx context.Context) error {
	d, err := durationFrom(os.Getenv("SOAK"))
	if err != nil {
		return err
	}
	return rig.With(func(s *rig.Stack) error { return soak(ctx, s, d) }, rig.LargeDatabase...)
}

// fullRun is how long a run takes that has every fault at least once.
const fullRun = 5 * time.Minute

func durationFrom(setting string) (time.Duration, error) {
	if setting == "" {
		return fullRun, nil
	}
	d, err := time.ParseDuration(setting)
	if err != nil || d < 20*time.Second {
		return 0, errors.New("SOAK: want a duration of at least 20s, such as 5m")
	}
	return d, nil
}

// The timeouts of the instances. They are shorter than most faults.
const (
	claimTimeout = 3 * time.Second
	lockTTL      = 4 * time.Second
	drainTimeout = 10 * time.Second
)

var settings = []string{
	"CLAIM_TIMEOUT=" + claimTimeout.String(), "LOCK_TTL=" + lockTTL.String(), "DRAIN_TIMEOUT=" + drainTimeout.String(),
}

// soak sells while parts fail, then among hostile clients, and then what is left.
func soak(ctx context.Context, s *rig.Stack, d time.Duration) error {
	m, a, b, err := open(ctx, s, d)
	if err != nil {
		return err
	}
	over := overloader{market: m}
	if over.headers, err = s.Headers(overloadUsers); err != nil {
		return err
	}
	sch := &schedule{market: m, faults: listFaults(s, m, &over, a, b), a: a, b: b, duration: d}
	if err := sell(ctx, m, sch); err != nil {
		return err
	}
	awaitSales(ctx, m, "after the last fault", m.nginx)
	hostility, err := faceHostileClients(ctx, m)
	if err != nil {
		return err
	}
	if err := settle(ctx, m); err != nil {
		return err
	}
	return sch.report(ctx, s, hostility, over.refused)
}

// open starts the instances and creates the coupon of claimSteadily.
func open(ctx context.Context, s *rig.Stack, d time.Duration) (m *market, a, b *instance, err error) {
	m = &market{signer: s.Signer(), history: history.New()}
	if m.sale, err = s.NewSale(ctx, settings...); err != nil {
		return nil, nil, nil, err
	}
	if m.steady, err = m.sale.AddCoupon(ctx, steadyStock(d)); err != nil {
		return nil, nil, nil, err
	}
	first, second, pair, err := fault.StartPair(m.sale, "api", nil)
	if err != nil {
		return nil, nil, nil, err
	}
	a, b = &instance{Instance: first}, &instance{Instance: second}
	a.lastUser.Store(m.newUser())
	b.lastUser.Store(m.newUser())
	if a.client, err = newClient("instance a", a.Address); err != nil {
		return nil, nil, nil, err
	}
	if b.client, err = newClient("instance b", b.Address); err != nil {
		return nil, nil, nil, err
	}
	m.nginxPID = pair.Nginx.PID()
	m.nginx, err = newClient("nginx", pair.Address())
	return m, a, b, err
}

// sell runs all activities at once until the time is up. All times of the report
// count from its begin. Half of the user loops
// claim through nginx, and a quarter each directly at an instance. An activity that
// fails ends the others.
func sell(ctx context.Context, m *market, s *schedule) error {
	m.begin, m.log = time.Now(), rig.Progress()
	timed, cancel := context.WithTimeout(ctx, s.duration)
	defer cancel()
	all, during := errgroup.WithContext(timed)
	all.Go(func() error { return s.run(during) })
	all.Go(func() error { auditAlways(during, m); return nil })
	all.Go(func() error { manageCoupons(during, m, max(2*time.Second, s.duration/40)); return nil })
	all.Go(func() error { claimSteadily(during, m, s.a, s.b); return nil })
	all.Go(func() error { claimSteadily(during, m, s.b, s.a); return nil })
	for i := range userLoops {
		c := []client{s.a.client, m.nginx, s.b.client, m.nginx}[i%4]
		all.Go(func() error { userLoop(during, m, c); return nil })
	}
	return errors.Join(all.Wait(), ctx.Err())
}
