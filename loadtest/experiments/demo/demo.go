// Package demo proves the three promises of a sale by experiments. Each sends a
// burst of simultaneous claims to two instances behind nginx, under a lock and
// guards, and then checks in the database whether the promises held. Controls lack a
// lock or a guard and must break a promise; a control that breaks none is a
// failure.
package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// Run runs all experiments with k6, prints a table and writes
// out/demo/proof.json.
func Run(ctx context.Context) error { return prove(ctx, "demo", rig.K6, Experiments) }

// RunJMeter runs the one-user and many-users experiments with JMeter and writes
// out/jmeter/proof.json.
func RunJMeter(ctx context.Context) error {
	var some []Experiment
	for _, e := range Experiments {
		if e.Script == rig.OneUser.Script && !e.LateReleases || e.Script == rig.ManyUsers.Script {
			some = append(some, e)
		}
	}
	return prove(ctx, "jmeter", rig.JMeter, some)
}

// prove runs experiments, each again while it proves nothing. One that cannot run ends the
// command without a proof.
func prove(ctx context.Context, name string, generate rig.Generator, experiments []Experiment) error {
	out, err := rig.EmptyDir("out", name)
	if err != nil {
		return err
	}
	return rig.With(func(s *rig.Stack) error {
		var results []*Result
		for i, e := range experiments {
			results = append(results, &Result{Experiment: e, number: i + 1, stack: s, generate: generate,
				dir: filepath.Join(out, fmt.Sprintf("%02d", i+1))})
		}
		results, err := trial.Run(ctx, results...)
		fmt.Println()
		Table(results).Print()
		if err != nil {
			return err
		}
		return conclude(ctx, s, name, results)
	})
}

// conclude writes the proof and the page to out/name.
func conclude(ctx context.Context, s *rig.Stack, name string, results []*Result) error {
	e, err := s.Environment(ctx)
	if err != nil {
		return err
	}
	page := pageOf(name, e, results)
	p := Proof{Environment: e, Pass: page.Pass}
	for _, r := range results {
		p.Runs = append(p.Runs, r.record())
	}
	err = rig.WriteJSON(filepath.Join("out", name, "proof.json"), p)
	return errors.Join(err, report.Write(name, page), rig.Proven(p.Pass))
}

func (r *Result) String() string {
	return fmt.Sprintf("%s, lock %s, guards off: %s", r.Title(), r.lockTitle(), r.guardsOffTitle())
}

// Run runs the experiment on a sale of its own.
func (r *Result) Run(ctx context.Context) (verdict.Verdict, error) {
	_, err := rig.EmptyDir(r.dir)
	if err == nil {
		err = r.execute(ctx, r.stack)
	}
	return r.Verdict(), err
}

func (r *Result) execute(ctx context.Context, s *rig.Stack) error {
	settings := rig.LabSettings(r.Lock, r.Scope, r.Commit, r.GuardsOff...)
	if r.Returned {
		settings = append(settings, "CLAIM_PAUSE=600ms") // a return refunds under its lock
	}
	sale, err := s.NewSale(ctx, settings...)
	if err != nil {
		return err
	}
	return sale.With(2, func(f *rig.Fleet) error { return r.send(ctx, f) })
}

// send sends the claims, and counts what has become of them.
func (r *Result) send(ctx context.Context, f *rig.Fleet) (err error) {
	generate := r.generate
	if r.LateReleases {
		generate = withLateReleases(f.Sale, generate)
	}
	if r.Script == rig.Retried.Script {
		generate = withRepliesCut(generate)
	}
	if r.Burst, err = f.Send(ctx, r.dir, generate, r.Workload); err != nil {
		return err
	}
	if err := awaitExpiry(ctx, f.Sale); err != nil {
		return err
	}
	w := r.Workload
	if r.Lock != "none" && r.Scope == "user" {
		w.Limit = 1 // a claim that the lock of its user refuses is not repeated: only one is sure to be made
	}
	r.Totals, err = f.Audit(ctx, w, r.Acknowledged())
	return err
}

// awaitExpiry waits until the orders of a sale that expire, if it has any, have ended.
func awaitExpiry(ctx context.Context, sale *rig.Sale) error {
	const limit = 20 * time.Second // the holds are over; instances look every second
	left, err := sale.AwaitExpiry(ctx, limit)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d orders have not expired %s after the burst", left, limit)
	}
	return err
}

// withRepliesCut returns generate with a proxy that cuts the first reply to each user.
func withRepliesCut(generate rig.Generator) rig.Generator {
	return func(ctx context.Context, dir string, t rig.Target, w rig.Workload) (rig.Burst, error) {
		proxy, err := faultproxy.New(t.URL)
		if err != nil {
			return rig.Burst{}, err
		}
		proxy.Inject(faultproxy.LoseReply, "POST /coupons/"+t.Coupons[0], w.Requests())
		t.URL = "http://" + proxy.Addr()
		b, err := generate(ctx, dir, t, w)
		if n := proxy.Hits(); err == nil && n != w.Requests() {
			err = fmt.Errorf("%d replies were cut, want %d", n, w.Requests())
		}
		return b, errors.Join(err, proxy.Close())
	}
}
