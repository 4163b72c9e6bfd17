package soak

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/loadtest/measurements/overload"
)

const (
	crowdSize  = 4 // times the claims that the instance can make
	crowdTime  = 10 * time.Second
	peakTime   = time.Second
	peakConns  = 64
	crowdUsers = 400_000         // more than come in crowdTime
	crowdStock = 10 * crowdUsers // does not sell out
)

// A crowdRun is one crowd. Its result is valid once done is closed.
type crowdRun struct {
	result overload.Result
	err    error
	done   chan struct{}
}

// crowd lets a crowd claim a coupon at one instance, several times as often as the
// instance can make claims. It must refuse early what it cannot make in time, and
// sell all coupons again when the crowd has left.
func (r *run) crowd(i *instance) fault {
	var c *crowdRun
	return fault{
		what:  fmt.Sprintf("crowd of %d times what instance %s can make", crowdSize, i.name),
		lasts: peakTime + crowdTime,
		strike: func(ctx context.Context) error {
			coupon, err := r.sale.AddCoupon(ctx, crowdStock)
			if err != nil {
				return err
			}
			c = &crowdRun{done: make(chan struct{})}
			go func() {
				defer close(c.done)
				c.result, c.err = r.claimInCrowd(ctx, i.Address, coupon)
			}()
			return nil
		},
		heal: func() error {
			<-c.done
			r.judgeCrowd(c)
			return c.err
		},
	}
}

// claimInCrowd measures how many claims the instance at address makes, and then
// sends several times as many.
func (r *run) claimInCrowd(ctx context.Context, address string, coupon int64) (overload.Result, error) {
	load := overload.Load{
		Address: address, Coupon: coupon, Headers: r.crowdHeaders, First: users, // the first users claim other coupons
		Phases: []overload.Phase{{Conns: peakConns, Duration: peakTime}}, LowPriority: true,
	}
	results, err := overload.Run(ctx, load)
	if err != nil {
		return overload.Result{}, err
	}
	load.First += results[0].Offered
	load.Phases = []overload.Phase{{Rate: crowdSize * float64(results[0].InTime) / peakTime.Seconds(),
		Duration: crowdTime}}
	results, err = overload.Run(ctx, load)
	if err != nil {
		return overload.Result{}, err
	}
	return results[0], nil
}

// judgeCrowd adds what the instance's replies to a crowd violate.
func (r *run) judgeCrowd(c *crowdRun) {
	if c.err != nil {
		return
	}
	n := c.result
	r.log("crowd: of %d claims %d were made, the slowest in %.1f s, and %d refused, 99 %% of them within %d ms",
		n.Offered, n.Made, n.MadeMax.Seconds(), n.Refused, n.RefusedP99.Milliseconds())
	if n.MadeMax > claimTimeout {
		r.violations.add("crowd: a claim was made after %s", n.MadeMax)
	}
	if lost := n.Unanswered + n.Other; lost > 0 {
		r.violations.add("crowd: %d of %d claims got neither an order nor a refusal: %s", lost, n.Offered, n.Detail)
	}
	if n.Made == 0 {
		r.violations.add("crowd: no claim was made")
	}
	r.refusedInCrowds += n.Refused
}
