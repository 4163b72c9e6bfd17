package soak

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// An outage is the time from a fault to its healing.
type outage struct {
	Second float64 `json:"second"`
	What   string  `json:"what"`
	Down   float64 `json:"down_seconds"`
	// of a claim from the fault until all coupons sell again
	LongestWait float64 `json:"longest_wait_seconds"`
	// all coupons at both instances, since the fault has healed
	SellsAfter float64 `json:"sells_after_seconds"`
	OtherAfter float64 `json:"other_instance_sells_after_seconds,omitempty"` // since it began

	strike trial.Span
	end    time.Time // when all coupons sell again
}

// sell runs all activities at once until the time is up. All times of the report count
// from its begin. Half of the user loops claim through nginx, and a quarter each directly
// at an instance.
func (m *market) sell(ctx context.Context) error {
	alone := func(do func(context.Context)) trial.Load {
		return trial.Clients(1, func(ctx context.Context, _ int) { do(ctx) })
	}
	at := [4]trial.Client{m.A.Client, m.Client, m.B.Client, m.Client}
	var lastOfA, lastOfB atomic.Int64
	lastOfA.Store(m.newUser())
	lastOfB.Store(m.newUser())
	m.begin, m.log = time.Now(), rig.Progress()
	_, err := trial.Schedule{
		Faults: m.faults, Rest: rest, For: m.duration, Spare: sellLimit,
		Recovered: m.recovered,
	}.Run(ctx,
		alone(func(ctx context.Context) { auditAlways(ctx, m) }),
		alone(func(ctx context.Context) { manageCoupons(ctx, m) }),
		alone(func(ctx context.Context) { claimSteadily(ctx, m, m.A.Client, &lastOfA, &lastOfB) }),
		alone(func(ctx context.Context) { claimSteadily(ctx, m, m.B.Client, &lastOfB, &lastOfA) }),
		trial.Clients(userLoops, func(ctx context.Context, i int) { userLoop(ctx, m, at[i%4]) }),
	)
	return err
}

// rest is the time between two faults.
const rest = time.Second

// beside returns f, during which an instance must sell all other coupons.
func (m *market) beside(other *trial.Instance, f fault.Fault) fault.Fault {
	strike := f.Strike
	f.Strike = func(ctx context.Context) error {
		err := strike(ctx)
		if err == nil {
			m.other.Go(func() { m.otherAfter = awaitSales(ctx, m, "during "+f.Name, other.Client) })
		}
		return err
	}
	return f
}

// recovered waits until all coupons sell again after a fault.
func (m *market) recovered(ctx context.Context, one trial.Strike) error {
	sells := awaitSales(ctx, m, "after "+one.Name, m.A.Client, m.B.Client, m.Client)
	m.other.Wait()
	o := outage{
		Second: one.Begin.Sub(m.begin).Seconds(), What: one.Name, Down: one.Took().Seconds(),
		SellsAfter: sells.Seconds(), OtherAfter: m.otherAfter.Seconds(),
		strike: one.Span, end: time.Now(),
	}
	m.outages, m.otherAfter = append(m.outages, o), 0
	m.log("%s: healed after %.1f s; all coupons sell again after %.1f s", o.What, o.Down, o.SellsAfter)
	return nil
}

const (
	// sellLimit is how long a coupon may not sell after a fault has healed, and
	// at an instance that the fault does not strike.
	sellLimit   = 5 * time.Second
	retryPeriod = 100 * time.Millisecond
	recoverEnd  = 3 * sellLimit // when awaitSales gives up
)

// awaitSales waits until each client gets a verdict on each recent coupon and on
// the steady one, which is never sold out. It returns how long that took. More
// than sellLimit is a violation, whose message begins with when.
func awaitSales(ctx context.Context, m *market, when string, clients ...trial.Client) time.Duration {
	coupons := append(m.coupons.recent(), coupon{id: m.steady})
	took := make([]time.Duration, len(clients)*len(coupons))
	var all sync.WaitGroup
	for i := range took {
		c, coupon := clients[i/len(coupons)], coupons[i%len(coupons)].id
		all.Go(func() {
			if took[i] = awaitVerdict(ctx, m, c, coupon); took[i] > sellLimit && ctx.Err() == nil {
				m.Violations.Add("%s: coupon %d did not sell at %s for %.1f s", when, coupon, c.Name,
					took[i].Seconds())
			}
		})
	}
	all.Wait()
	return slices.Max(took)
}

// awaitVerdict sends claims of new users, whether or not the earlier ones have a
// reply, and returns how long it took until the first verdict.
func awaitVerdict(ctx context.Context, m *market, c trial.Client, coupon int64) time.Duration {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, recoverEnd)
	defer cancel()
	var sent sync.WaitGroup
	defer sent.Wait()
	verdict, first := context.WithCancel(ctx)
	defer first()
	for {
		sent.Go(func() {
			if !c.Claim(ctx, rig.Claim{User: m.newUser(), Coupon: coupon}).Failed() {
				first()
			}
		})
		if !rig.Sleep(verdict, retryPeriod) {
			return time.Since(begin)
		}
	}
}
