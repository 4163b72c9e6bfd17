package soak

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.com/flashsale/loadtest/history"
	"example.com/flashsale/loadtest/rig"
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

	span history.Span // until all coupons sell again
}

// A schedule injects faults one after the other.
type schedule struct {
	market   *market
	faults   []injection
	a, b     *instance
	duration time.Duration
	outages  []outage
	pauses   []pause
}

// run injects the faults again and again, each if it ends before the sale does.
func (s *schedule) run(ctx context.Context) error {
	for i := 0; rig.Sleep(ctx, restBetween(s.duration, s.faults)); i++ {
		f := s.faults[i%len(s.faults)]
		if time.Since(s.market.begin)+f.Lasts+sellLimit > s.duration {
			continue
		}
		if err := s.inject(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// overhead is about how long a fault takes beside lasting: waits for a COMMIT, a
// restart, the recovery.
const overhead = 2 * time.Second

// restBetween returns the time between two faults that spreads all of them over
// the run: at least half a second, although a short run then has some of them
// only, and at most ten.
func restBetween(d time.Duration, faults []injection) time.Duration {
	for _, f := range faults {
		d -= f.Lasts + overhead
	}
	return min(max(500*time.Millisecond, d/time.Duration(len(faults)+1)), 10*time.Second)
}

// inject injects f, and waits until all coupons sell again.
func (s *schedule) inject(ctx context.Context, f injection) error {
	m := s.market
	var other sync.WaitGroup
	var otherAfter time.Duration
	strike := f.Strike
	f.Strike = func(ctx context.Context) error {
		err := strike(ctx)
		if err == nil && f.other != nil {
			other.Go(func() { otherAfter = awaitSales(ctx, m, "during "+f.Name, f.other.client) })
		}
		return err
	}
	struck, healed, err := f.Inject(ctx)
	if err != nil {
		return err
	}
	if f.suspended != nil {
		s.pauses = append(s.pauses, pause{history.Span{Begin: struck, End: healed}, f.suspended.client.name})
	}
	sells := awaitSales(ctx, m, "after "+f.Name, s.a.client, s.b.client, m.nginx)
	other.Wait()
	o := outage{
		Second: struck.Sub(m.begin).Seconds(), What: f.Name, Down: healed.Sub(struck).Seconds(),
		SellsAfter: sells.Seconds(), OtherAfter: otherAfter.Seconds(),
		span: history.Span{Begin: struck, End: time.Now()},
	}
	s.outages = append(s.outages, o)
	m.log("%s: healed after %.1f s; all coupons sell again after %.1f s", f.Name, o.Down, o.SellsAfter)
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
func awaitSales(ctx context.Context, m *market, when string, clients ...client) time.Duration {
	coupons := append(m.coupons.recent(), m.steady)
	took := make([]time.Duration, len(clients)*len(coupons))
	var all sync.WaitGroup
	for i := range took {
		c, coupon := clients[i/len(coupons)], coupons[i%len(coupons)]
		all.Go(func() {
			if took[i] = awaitVerdict(ctx, m, c, coupon); took[i] > sellLimit && ctx.Err() == nil {
				m.violations.Add("%s: coupon %d did not sell at %s for %.1f s", when, coupon, c.name,
					took[i].Seconds())
			}
		})
	}
	all.Wait()
	return slices.Max(took)
}

// awaitVerdict sends claims of new users, whether or not the earlier ones have a
// reply, and returns how long it took until the first verdict.
func awaitVerdict(ctx context.Context, m *market, c client, coupon int64) time.Duration {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, recoverEnd)
	defer cancel()
	var sent sync.WaitGroup
	defer sent.Wait()
	verdict, first := context.WithCancel(ctx)
	defer first()
	for {
		sent.Go(func() {
			if !m.claim(ctx, c, m.newUser(), coupon).Failed() {
				first()
			}
		})
		if !rig.Sleep(verdict, retryPeriod) {
			return time.Since(begin)
		}
	}
}
