package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// refusal is what it costs an nginx to refuse a claim that does nothing else. No server
// refuses for much less on this machine: it has to read the claim and to send the reply.
var refusal = figure{"overload/refusal of an nginx", "µs"}

// startRefuser starts that nginx.
func (b *bench) startRefuser() (*lab.Nginx, error) {
	return lab.StartLimitedNginx(b.Lab, filepath.Join("loadtest", "measurements", "bench", "refusing"))
}

// measureRefusal offers n the claims of s's largest offer.
func (s *overloadSite) measureRefusal(ctx context.Context, n *lab.Nginx) ([]measured, error) {
	d := s.deployment
	d.Fleet = &rig.Fleet{Nginx: n}
	before := cpuTime(n.PID())
	o, err := d.send(ctx, clients.Load{Apart: true, Core: s.core, Coupons: []int64{1}, Phases: []generator.Phase{
		{Rate: float64(fourfold) * s.peak, Duration: offerTime},
	}})
	if err != nil {
		return nil, err
	}
	r := o.phases[0]
	if n := r.Replies(clients.NginxOverloaded); n < len(r.Claims) || n == 0 {
		return nil, fmt.Errorf("of %d claims %d were refused: %s", len(r.Claims), n, r.Detail)
	}
	cost := perClaim(cpuTime(n.PID())-before, r)
	if cost <= 0 { // or all that is made would be compared with a whole core
		return nil, errors.New("the CPU time of the nginx that refuses is not known")
	}
	return []measured{{refusal, cost}}, nil
}

// ofCore is what was made of an offer, of what the core can make beside its refusals if
// each costs what it costs that nginx. It is void where they leave nothing of the core, and
// where more was made than can be.
//
// At the peak p a claim takes 1/p of the core. Of an offer of k times the peak, m claims are
// made and k·p − m refused, at a cost of c each: m/p + (k·p − m)·c = 1. So m/p is
// (1 − k·c·p) / (1 − c·p) at most.
func (s siteName) ofCore(o offer) func(Figures) samples {
	return func(all Figures) (ratios samples) {
		costs, peaks, sent := all.samples(refusal), all.samples(s.peak()), all.samples(s.under(o).sent())
		made := s.under(o).valid(offerFigures.madeOfPeak)(all)
		for i := range min(len(costs), len(made)) {
			f, k := costs[i]/1e6*peaks[i], sent[i]/peaks[i]
			ratio := made[i] * (1 - f) / (1 - k*f)
			if k*f >= 1 || ratio > mostOfPeak {
				ratio = math.NaN()
			}
			ratios = append(ratios, ratio)
		}
		return ratios
	}
}

// ofCoreCell is ofCore, unless it is void.
func (s siteName) ofCoreCell(o offer) cell {
	return func(all Figures) string {
		ratios := s.ofCore(o)(all)
		if ratios.void() {
			return void
		}
		return inRange(ratios.spread())
	}
}

// Refusal is the cost of such a refusal.
func (r Report) Refusal() string { return spread(refusal)(r.Figures) }
