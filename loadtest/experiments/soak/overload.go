package soak

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

const (
	overloadFactor = 4 // times the claims that the instance can make
	overloadTime   = 10 * time.Second
	peakTime       = time.Second
	peakConns      = 64
	overloadUsers  = 400_000            // more than come in overloadTime
	overloadStock  = 10 * overloadUsers // does not sell out
)

// overload offers an instance several times as many claims of a coupon as it
// can make. The instance must refuse early what it cannot make in time, and sell
// all coupons again afterwards.
func overload(m *market, i *instance) fault.Fault {
	var result clients.Result
	offered := make(chan error, 1)
	return fault.Fault{
		Name:  fmt.Sprintf("overload of %d times what %s can make", overloadFactor, i.Client.Name),
		Lasts: peakTime + overloadTime,
		Strike: func(ctx context.Context) error {
			coupon, err := m.AddCoupon(ctx, overloadStock)
			if err != nil {
				return err
			}
			go func() {
				var err error
				result, err = m.offer(ctx, i.Address, coupon)
				offered <- err
			}()
			return nil
		},
		Heal: func() error {
			err := <-offered
			if err == nil {
				m.judgeOverload(result)
			}
			return err
		},
	}
}

// offer measures how many claims the instance at address makes, and then sends
// several times as many.
func (m *market) offer(ctx context.Context, address string, coupon int64) (clients.Result, error) {
	load := clients.Load{
		// the first users claim other coupons
		Address: address, Coupons: []int64{coupon}, Headers: m.headers, First: users,
		Phases: []generator.Phase{{Clients: peakConns, Duration: peakTime}}, Apart: true, LowPriority: true,
	}
	peak, err := load.Run(ctx)
	if err != nil {
		return clients.Result{}, err
	}
	load.First += peak[0].Count
	rate := overloadFactor * float64(peak[0].Replies(rig.Accepted)) / peakTime.Seconds()
	load.Phases = []generator.Phase{{Rate: rate, Duration: overloadTime}}
	results, err := load.Run(ctx)
	if err != nil {
		return clients.Result{}, err
	}
	return results[0], nil
}

// judgeOverload adds what the instance's replies violate.
func (m *market) judgeOverload(r clients.Result) {
	made := r.Times(rig.Claim.Took, rig.Accepted)
	refused := r.Times(rig.Claim.Took, rig.Overloaded)
	unknown := r.Replies(rig.Unavailable)
	slowest := stats.Quantile(made, 1)
	m.log("overload: of %d claims %d were made, the slowest in %.1f s, %d refused, 99 %% of them within %d ms, "+
		"and %d have an unknown outcome", r.Count, len(made), slowest.Seconds(), len(refused),
		stats.Quantile(refused, 0.99).Milliseconds(), unknown)
	if slowest > claimTimeout {
		m.Violations.Add("overload: a claim was made after %s", slowest)
	}
	if lost := len(r.Claims) - len(made) - len(refused) - unknown; lost > 0 {
		m.Violations.Add("overload: %d of %d claims got no order, no refusal and no unknown outcome: %s", lost, r.Count, r.Detail)
	}
	if len(made) == 0 {
		m.Violations.Add("overload: no claim was made")
	}
	m.refused += len(refused)
}
