package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"example.com/flashsale/loadtest/measurements/overload"
	"example.com/flashsale/loadtest/rig"
)

const (
	overloadRepetitions = 3
	crowdTime           = 5 * time.Second
	afterTime           = 3 * time.Second
	afterRate           = 200 // claims per second after a crowd
)

// measureOverload measures what the service makes of more claims than it can.
func (b *bench) measureOverload(ctx context.Context) error {
	direct, err := b.direct(ctx, grouped)
	if err != nil {
		return err
	}
	sale, err := b.NewSale(ctx)
	if err != nil {
		return err
	}
	pair, err := sale.StartCrowdPair()
	if err != nil {
		return err
	}
	sites := []overloadSite{
		{oneInstance, b, direct.sale, direct.address, []int{direct.instance.PID()}},
		{behindNginx, b, sale, pair.Address(), []int{pair.A.PID(), pair.B.PID()}},
	}
	return errors.Join(b.claimInCrowds(ctx, sites), pair.Stop(), direct.instance.Stop())
}

// claimInCrowds measures the peak of each site and then the crowds, for each
// repetition.
func (b *bench) claimInCrowds(ctx context.Context, sites []overloadSite) error {
	repetitions := min(overloadRepetitions, b.repetitions-1) // 1 if the run is quick
	for i := range repetitions {
		for _, s := range sites {
			peak, err := s.peak(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			for _, c := range crowds {
				b.progress("%s %s, repetition %d of %d", s.name, c, i+1, repetitions)
				if err := s.claim(ctx, peak, c); err != nil {
					return fmt.Errorf("%s %s: %w", s.name, c, err)
				}
			}
		}
	}
	return nil
}

// An overloadSite is what crowds claim from.
type overloadSite struct {
	siteName
	bench     *bench
	sale      *rig.Sale
	address   string
	instances []int // process ids
}

// peak returns the claims per second of a closed model.
func (s overloadSite) peak(ctx context.Context) (float64, error) {
	load := overload.Load{LowPriority: true, Phases: []overload.Phase{{Conns: defaultConns, Duration: crowdTime}}}
	results, err := s.run(ctx, load)
	if err != nil {
		return 0, err
	}
	if r := results[0]; r.Made < r.Offered {
		return 0, fmt.Errorf("of %d claims on %d connections %d were made: %s", r.Offered, defaultConns,
			r.Made, r.Detail)
	}
	peak := float64(results[0].InTime) / crowdTime.Seconds()
	s.bench.add(s.siteName.peak(), peak)
	return peak, nil
}

// claim lets a crowd claim, and measures how soon claims are made as without it
// after it has left.
func (s overloadSite) claim(ctx context.Context, peak float64, c crowd) error {
	var stops []func() (float64, error)
	for _, pid := range s.instances {
		stops = append(stops, rig.SampleMemory(pid))
	}
	results, err := s.run(ctx, overload.Load{LowPriority: !c.shares, Phases: []overload.Phase{
		{Rate: c.rate * peak, Duration: crowdTime}, {Rate: afterRate, Duration: afterTime},
	}})
	memory := 0.0
	for _, stop := range stops {
		mb, memoryErr := stop()
		memory, err = max(memory, mb), errors.Join(err, memoryErr)
	}
	if err != nil {
		return err
	}
	to := s.under(c)
	s.bench.addCrowd(to, results[0], peak, c.coresLeft(results[0]))
	s.bench.add(to.timeToNormal(), rig.Milliseconds(results[1].Normal))
	s.bench.add(to.memory(), memory)
	return nil
}

// coresLeft returns how many cores the clients left to the servers.
func (c crowd) coresLeft(r overload.Result) float64 {
	cores := float64(runtime.NumCPU())
	if c.shares {
		cores -= r.CPU.Seconds() / crowdTime.Seconds()
	}
	return cores
}

// addCrowd adds the figures of a crowd. What was made of the peak is what each core
// made that the clients left to the servers.
func (b *bench) addCrowd(to crowdFigures, r overload.Result, peak, coresLeft float64) {
	perSecond := func(n int) float64 { return float64(n) / crowdTime.Seconds() }
	b.add(to.coresLeft(), coresLeft)
	b.add(to.due(), perSecond(r.Due))
	b.add(to.sent(), perSecond(r.Offered))
	b.add(to.made(), perSecond(r.InTime))
	b.add(to.madeOfPeak(), perSecond(r.InTime)/coresLeft/(peak/float64(runtime.NumCPU())))
	b.add(to.refused(), perSecond(r.Refused))
	b.add(to.unanswered(), float64(r.Unanswered+r.Other+r.Unsent))
	if lost := r.Unanswered + r.Other; lost > 0 {
		b.progress("%s: %d without a verdict, one of them: %s", to.name, lost, r.Detail)
	}
	for _, d := range []struct {
		to   figure
		took time.Duration
	}{
		{to.madeP50(), r.MadeP50}, {to.madeP99(), r.MadeP99}, {to.madeMax(), r.MadeMax},
		{to.refusedP99(), r.RefusedP99}, {to.connectP99(), r.ConnectP99},
	} {
		b.add(d.to, rig.Milliseconds(d.took))
	}
}

// run claims a new coupon and audits it. A claim without a verdict may have been
// made.
func (s overloadSite) run(ctx context.Context, load overload.Load) ([]overload.Result, error) {
	coupon, err := s.sale.AddCoupon(ctx, unlimitedStock)
	if err != nil {
		return nil, err
	}
	load.Address, load.Coupon, load.Headers = s.address, coupon, s.bench.headers
	results, err := overload.Run(ctx, load)
	if err != nil {
		return nil, err
	}
	made, offered := 0, 0
	for _, r := range results {
		made, offered = made+r.Made, offered+r.Offered
	}
	accounts, err := s.sale.Accounts(ctx, coupon)
	if err != nil {
		return nil, err
	}
	for _, a := range accounts {
		if a.Oversold() > 0 || a.Duplicates() > 0 || !a.Balanced() || a.Orders < made || a.Orders > offered {
			return nil, fmt.Errorf("of %d claims %d were acknowledged, but the database says %+v", offered, made, a)
		}
	}
	return results, nil
}
