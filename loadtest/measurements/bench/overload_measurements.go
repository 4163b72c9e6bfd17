package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/cores"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

const (
	offerTime = 4 * time.Second
	afterTime = 2 * time.Second
	afterRate = 200 // claims per second after an offer
)

// prepareOverload measures the peak of each site and then the offers, for each
// repetition.
func prepareOverload(ctx context.Context, b *bench) ([]turns, error) {
	serverCore, clientCore, err := cores.Two()
	if err != nil {
		b.progress("overload is not measured: %s", err)
		return nil, nil
	}
	direct := &overloadSite{siteName: oneInstance, core: clientCore}
	pair := &overloadSite{siteName: behindNginx, core: clientCore}
	var refuser *lab.Nginx
	err = b.onCore(serverCore, func(b *bench) (err error) {
		if err := shareOpenFiles(); err != nil {
			return err
		}
		if direct.deployment, err = b.startOne(ctx, grouped); err != nil {
			return err
		}
		if pair.deployment, err = b.startPair(ctx, grouped, lab.StartBusyNginx(claimsAtOnce)); err == nil {
			refuser, err = b.startRefuser()
		}
		return err
	})
	var all []measurement
	for _, site := range []*overloadSite{direct, pair} {
		site.audited = &b.audited
		all = append(all, measurement{site.siteName.name, site.measurePeak})
		for _, o := range offers {
			all = append(all, measurement{site.under(o).name, func(ctx context.Context) ([]measured, error) {
				return site.measure(ctx, o)
			}})
		}
	}
	all = append(all, measurement{refusal.name, func(ctx context.Context) ([]measured, error) {
		return direct.measureRefusal(ctx, refuser)
	}})
	return []turns{{b.repetitions, all}}, err
}

// shareOpenFiles gives the programs that this process starts as many open files as it may have
// itself: Go raises that limit for its own process only, unless it is set.
func shareOpenFiles() error {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	files.Cur = files.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files)
}

// onCore runs start with a stack of its own. The servers of that stack, and those that
// start starts, have one core.
func (b *bench) onCore(core int, start func(*bench) error) error {
	restore, err := cores.Confine(core)
	if err != nil {
		return err
	}
	confined := *b
	if confined.Stack, err = b.Another(rig.LargeDatabase...); err == nil {
		err = start(&confined)
	}
	return errors.Join(err, restore())
}

// An overloadSite is a deployment with the claims per second that it made last in a
// closed model. Its clients have a core of their own.
type overloadSite struct {
	siteName
	deployment
	core int
	peak float64
}

// send claims in these phases.
func (s *overloadSite) send(ctx context.Context, phases ...generator.Phase) (outcome, error) {
	return s.claim(ctx, clients.Load{Apart: true, Core: s.core, Phases: phases}, 1, 1)
}

func (s *overloadSite) measurePeak(ctx context.Context) ([]measured, error) {
	o, err := s.send(ctx, generator.Phase{Clients: defaultConns, Duration: offerTime})
	if err != nil {
		return nil, err
	}
	r := o.phases[0]
	if made := r.Replies(rig.Accepted); made < r.Count {
		return nil, fmt.Errorf("of %d claims on %d connections %d were made: %s", r.Count, defaultConns,
			made, r.Detail)
	}
	s.peak = inTime(r)
	return []measured{{s.siteName.peak(), s.peak}}, nil
}

// inTime returns the claims per second whose acceptance came before the end of the
// offer.
func inTime(r clients.Result) float64 {
	n := 0
	for _, took := range r.Times(func(c clients.Claim) time.Duration { return c.Received }, rig.Accepted) {
		if took <= offerTime {
			n++
		}
	}
	return float64(n) / offerTime.Seconds()
}

// measure measures what is made of an offer, and how soon claims are made as without
// it after it has ended.
func (s *overloadSite) measure(ctx context.Context, offered offer) ([]measured, error) {
	due := float64(offered) * s.peak
	o, err := s.send(ctx, generator.Phase{Rate: due, Duration: offerTime},
		generator.Phase{Rate: afterRate, Duration: afterTime})
	if err != nil {
		return nil, err
	}
	to, r := s.under(offered), o.phases[0]
	refusals := []string{clients.Service503, clients.NginxOverloaded}
	unknown := []string{clients.NoReply, rig.Unexpected, clients.Unavailable503, clients.Nginx503}
	perSecond := func(n int) float64 { return float64(n) / offerTime.Seconds() }
	made := r.Times(clients.Claim.Took, rig.Accepted)
	return []measured{
		{to.due(), due}, {to.sent(), perSecond(r.Count - r.Unsent)},
		{to.made(), inTime(r)}, {to.madeOfPeak(), inTime(r) / s.peak},
		{to.refused(), perSecond(r.Replies(refusals...))},
		{to.noVerdict(), float64(r.Replies(unknown...))},
		{to.madeP50(), quantile(made, 0.5)}, {to.madeP99(), quantile(made, 0.99)},
		{to.madeMax(), quantile(made, 1)},
		{to.refusedP99(), quantile(r.Times(clients.Claim.Took, refusals...), 0.99)},
		{to.with("connect p99", "ms"), quantile(r.Connects, 0.99)},
		{to.timeToNormal(), rig.Milliseconds(toNormal(o.phases[1].Claims, afterTime))}, {to.memory(), o.memory},
	}, nil
}

// toNormal returns the time until inARow claims have been made within quickly, or
// the duration of the phase.
func toNormal(claims []clients.Claim, duration time.Duration) time.Duration {
	const (
		quickly = 100 * time.Millisecond
		inARow  = 20
	)
	row := 0
	for _, c := range slices.SortedFunc(slices.Values(claims),
		func(x, y clients.Claim) int { return cmp.Compare(x.Sent, y.Sent) }) {
		if row++; c.Verdict != rig.Accepted || c.Took() > quickly {
			row = 0
		}
		if row == inARow {
			return min(duration, c.Received)
		}
	}
	return duration
}
