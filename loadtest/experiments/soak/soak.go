// Package soak runs a sale for minutes while its parts fail, and fails if a
// promise is broken, a claim gets no reply in time or a coupon does not sell again
// soon. Mixed users claim from coupons that open, sell out and are restocked, and use,
// return and let expire what they have. The instances, the database and Redis are
// killed, suspended and partitioned in turn. Then hostile clients occupy nginx and the
// instances. The database is audited throughout.
package soak

import (
	"context"
	"errors"
	"os"
	"time"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/migrations"
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
	if err := sch.sell(ctx); err != nil {
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
	m = &market{signer: s.Signer()}
	if m.events, err = startEvents(s.Lab); err != nil {
		return nil, nil, nil, err
	}
	all := append(settings, "EVENTS=true", "EVENTS_REDIS="+m.events.server.URL)
	if m.sale, err = s.NewSale(ctx, all...); err != nil {
		return nil, nil, nil, err
	}
	if err := migrations.AllowRules(ctx, m.sale.DB.DB); err != nil {
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
	a.client, b.client = newClient("instance a", a.Address), newClient("instance b", b.Address)
	m.nginx, m.nginxPID = newClient("nginx", pair.Address()), pair.Nginx.PID()
	return m, a, b, nil
}
