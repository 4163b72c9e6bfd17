package soak

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/measurements/overload"
	"example.com/flashsale/loadtest/rig"
)

const (
	overloadFactor = 4 // times the claims that the instance can make
	overloadTime   = 10 * time.Second
	peakTime       = time.Second
	peakConns      = 64
	overloadUsers  = 400_000            // more than come in overloadTime
	overloadStock  = 10 * overloadUsers // does not sell out
)

// An overloader offers an instance several times as many claims of a coupon as it
// can make. The instance must refuse early what it cannot make in time, and sell
// all coupons again afterwards.
type overloader struct {
	market  *market
	headers rig.Headers
	refused int
}

func (o *overloader) overload(i *instance) fault.Fault {
	var result overload.Result
	offered := make(chan error, 1)
	return fault.Fault{
		Name:  fmt.Sprintf("overload of %d times what %s can make", overloadFactor, i.client.name),
		Lasts: peakTime + overloadTime,
		Strike: func(ctx context.Context) error {
			coupon, err := o.market.sale.AddCoupon(ctx, overloadStock)
			if err != nil {
				return err
			}
			go func() {
				var err error
				result, err = o.offer(ctx, i.Address, coupon)
				offered <- err
			}()
			return nil
		},
		Heal: func() error {
			err := <-offered
			if err == nil {
				o.judge(result)
			}
			return err
		},
	}
}

// offer measures how many claims the instance at address makes, and then sends
// several times as many.
func (o *overloader) offer(ctx context.Context, address string, coupon int64) (overload.Result, error) {
	load := overload.Load{
		Address: address, Coupon: coupon, Headers: o.headers, First: users, // the first users claim other coupons
		Phases: []overload.Phase{{Conns: peakConns, Duration: peakTime}}, LowPriority: true,
	}
	peak, err := overload.Run(ctx, load)
	if err != nil {
		return overload.Result{}, err
	}
	load.First += peak[0].Offered
	rate := overloadFactor * float64(peak[0].InTime) / peakTime.Seconds()
	load.Phases = []overload.Phase{{Rate: rate, Duration: overloadTime}}
	results, err := overload.Run(ctx, load)
	if err != nil {
		return overload.Result{}, err
	}
	return results[0], nil
}

// judge adds what the instance's replies violate.
func (o *overloader) judge(r overload.Result) {
	m := o.market
	m.log("overload: of %d claims %d were made, the slowest in %.1f s, and %d refused, 99 %% of them within %d ms",
		r.Offered, r.Made, r.MadeMax.Seconds(), r.Refused, r.RefusedP99.Milliseconds())
	if r.MadeMax > claimTimeout {
		m.violations.Add("overload: a claim was made after %s", r.MadeMax)
	}
	if lost := r.Unanswered + r.Other; lost > 0 {
		m.violations.Add("overload: %d of %d claims got neither an order nor a refusal: %s", lost, r.Offered, r.Detail)
	}
	if r.Made == 0 {
		m.violations.Add("overload: no claim was made")
	}
	o.refused += r.Refused
}
