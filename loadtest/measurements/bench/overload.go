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

// A crowd offers claims at a rate in terms of the peak. Its clients leave the servers
// all the CPU time that they want, or share the cores with them.
type crowd struct {
	rate   float64
	shares bool
}

var crowds = []crowd{{0.5, false}, {1, false}, {2, false}, {4, false}, {2, true}, {4, true}}

// String is part of the names of figures.
func (c crowd) String() string {
	if c.shares {
		return fmt.Sprintf("%gx shared", c.rate)
	}
	return fmt.Sprintf("%gx", c.rate)
}

// overload measures what the service makes of more claims than it can.
func (b *bench) overload(ctx context.Context) error {
	direct, err := b.direct(ctx, serviceVariant("grouped"))
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
		{"overload/direct", b, direct.sale, direct.address, []int{direct.instance.PID()}},
		{"overload/nginx", b, sale, pair.Address(), []int{pair.A.PID(), pair.B.PID()}},
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
	name      string
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
		return 0, fmt.Errorf("of %d claims on %d connections %d were made: %s", r.Offered, defaultConns, r.Made, r.Detail)
	}
	peak := float64(results[0].InTime) / crowdTime.Seconds()
	s.bench.Add(s.name+" peak", "1/s", peak)
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
	name := s.name + " " + c.String()
	s.bench.addCrowd(name, results[0], peak, c.coresLeft(results[0]))
	s.bench.Add(name+" time to normal", "ms", rig.Milliseconds(results[1].Normal))
	s.bench.Add(name+" memory", "MB", memory)
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
func (b *bench) addCrowd(name string, r overload.Result, peak, coresLeft float64) {
	perSecond := func(n int) float64 { return float64(n) / crowdTime.Seconds() }
	b.Add(name+" cores left", "cores", coresLeft)
	b.Add(name+" due", "1/s", perSecond(r.Due))
	b.Add(name+" sent", "1/s", perSecond(r.Offered))
	b.Add(name+" made", "1/s", perSecond(r.InTime))
	b.Add(name+" made of peak", "", perSecond(r.InTime)/coresLeft/(peak/float64(runtime.NumCPU())))
	b.Add(name+" refused", "1/s", perSecond(r.Refused))
	b.Add(name+" unanswered", "", float64(r.Unanswered+r.Other+r.Unsent))
	if lost := r.Unanswered + r.Other; lost > 0 {
		b.progress("%s: %d without a verdict, one of them: %s", name, lost, r.Detail)
	}
	for _, d := range []struct {
		name string
		took time.Duration
	}{
		{" made p50", r.MadeP50}, {" made p99", r.MadeP99}, {" made max", r.MadeMax}, {" refused p99", r.RefusedP99}, {" connect p99", r.ConnectP99},
	} {
		b.Add(name+d.name, "ms", rig.Milliseconds(d.took))
	}
}

// run claims a new coupon and audits it. A claim without a verdict may have been
// made.
func (s overloadSite) run(ctx context.Context, load overload.Load) ([]overload.Result, error) {
	coupon, err := s.sale.AddCoupon(ctx, unlimitedStock)
	if err != nil {
		return nil, err
	}
	load.Address, load.Coupon, load.Headers = s.address, coupon, s.bench.wrk.headers
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
