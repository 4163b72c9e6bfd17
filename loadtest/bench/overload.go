package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/loadtest/overload"
	"example.com/flashsale/loadtest/rig"
)

const (
	overloadRepetitions = 3
	crowdTime           = 5 * time.Second
	afterTime           = 3 * time.Second
	afterRate           = 200 // claims per second after a crowd
)

// crowdRates are the rates of claims that are offered, in terms of the peak.
var crowdRates = []float64{0.5, 1, 2, 4}

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
	return errors.Join(b.crowds(ctx, sites), pair.Stop(), direct.instance.Stop())
}

// crowds measures the peak of each site and then the crowds, for each repetition.
func (b *bench) crowds(ctx context.Context, sites []overloadSite) error {
	repetitions := min(overloadRepetitions, b.repetitions-1) // 1 if the run is quick
	for i := range repetitions {
		for _, s := range sites {
			peak, err := s.peak(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			for _, rate := range crowdRates {
				b.progress("%s at %g times the peak, repetition %d of %d", s.name, rate, i+1, repetitions)
				if err := s.crowd(ctx, peak, rate); err != nil {
					return fmt.Errorf("%s at %g times the peak: %w", s.name, rate, err)
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

// peak returns the rate of a closed model.
func (s overloadSite) peak(ctx context.Context) (float64, error) {
	results, err := s.run(ctx, overload.Phase{Conns: defaultConns, Duration: crowdTime})
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

// crowd offers claims at a rate in terms of the peak, and measures how soon claims
// are made as without a crowd after it has left.
func (s overloadSite) crowd(ctx context.Context, peak, rate float64) error {
	var stops []func() (float64, error)
	for _, pid := range s.instances {
		stops = append(stops, rig.SampleMemory(pid))
	}
	results, err := s.run(ctx, overload.Phase{Rate: rate * peak, Duration: crowdTime}, overload.Phase{Rate: afterRate, Duration: afterTime})
	memory := 0.0
	for _, stop := range stops {
		mb, memoryErr := stop()
		memory, err = max(memory, mb), errors.Join(err, memoryErr)
	}
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s %gx", s.name, rate)
	s.bench.addCrowd(name, results[0], peak)
	s.bench.Add(name+" time to normal", "ms", rig.Milliseconds(results[1].Normal))
	s.bench.Add(name+" memory", "MB", memory)
	return nil
}

func (b *bench) addCrowd(name string, r overload.Result, peak float64) {
	perSecond := func(n int) float64 { return float64(n) / crowdTime.Seconds() }
	b.Add(name+" due", "1/s", perSecond(r.Due))
	b.Add(name+" sent", "1/s", perSecond(r.Offered))
	b.Add(name+" made", "1/s", perSecond(r.InTime))
	b.Add(name+" made of peak", "", perSecond(r.InTime)/peak)
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
func (s overloadSite) run(ctx context.Context, phases ...overload.Phase) ([]overload.Result, error) {
	coupon, err := s.sale.AddCoupon(ctx, unlimitedStock)
	if err != nil {
		return nil, err
	}
	results, err := overload.Run(ctx, overload.Load{Address: s.address, Coupon: coupon, Headers: s.bench.wrk.headers, Phases: phases})
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
