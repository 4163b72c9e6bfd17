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
	"os"
	"path/filepath"
	"strings"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/loadtest/rig"
)

// Run runs all experiments with k6, prints a table and writes
// out/demo/proof.json.
func Run(ctx context.Context) error { return prove(ctx, "demo", rig.K6, experiments) }

// RunJMeter runs the one-user and many-users experiments with JMeter and writes
// out/jmeter/proof.json.
func RunJMeter(ctx context.Context) error {
	var some []Experiment
	for _, e := range experiments {
		if e.Script == rig.OneUser.Script && !e.LateReleases || e.Script == rig.ManyUsers.Script {
			some = append(some, e)
		}
	}
	return prove(ctx, "jmeter", rig.JMeter, some)
}

// attempts bounds how often a row is repeated that was lucky or void. That two
// transactions overlap is likely, not certain. One break proves the point.
const attempts = 5

func prove(ctx context.Context, name string, generate rig.Generator, experiments []Experiment) error {
	out, err := rig.EmptyDir("out", name)
	if err != nil {
		return err
	}
	return rig.With(func(s *rig.Stack) error {
		results, err := runAll(ctx, s, out, generate, experiments)
		if err != nil {
			return err
		}
		fmt.Println()
		Table(results).Print()
		return conclude(ctx, s, name, results)
	})
}

func runAll(
	ctx context.Context, s *rig.Stack, out string, generate rig.Generator, experiments []Experiment,
) ([]Result, error) {
	steps := rig.NewSteps(len(experiments))
	var results []Result
	for i, e := range experiments {
		steps.Next("%s, lock %s, guards off: %s", e.Title(), e.lockTitle(), e.guardsOffTitle())
		dir := filepath.Join(out, fmt.Sprintf("%02d", i+1))
		r := Result{Experiment: e}
		r.run(ctx, s, dir, generate)
		for n := 1; n < attempts && r.provesNothing(); n++ {
			fmt.Fprintf(os.Stderr, "         %s: again\n", strings.Join(r.Reasons(), "; "))
			r.run(ctx, s, dir, generate)
		}
		if ctx.Err() != nil {
			return nil, errors.Join(errors.New("interrupted"), context.Cause(ctx))
		}
		results = append(results, r)
	}
	return results, nil
}

// conclude writes the proof and the report to out/name.
func conclude(ctx context.Context, s *rig.Stack, name string, results []Result) error {
	p, err := newProof(ctx, s, results)
	if err != nil {
		return err
	}
	file := filepath.Join("out", name, "proof.json")
	if err := rig.WriteJSON(file, p); err != nil {
		return err
	}
	fmt.Printf("\n%s: pass %v\n", file, p.Pass)
	if err := WriteReport(name, "The promises of the sale",
		"to two instances behind nginx, and checked in the database", p.Environment, results); err != nil {
		return err
	}
	return rig.Proven(p.Pass)
}

// run runs the experiment on a sale of its own, and replaces what r has measured.
func (r *Result) run(ctx context.Context, s *rig.Stack, dir string, generate rig.Generator) {
	*r = Result{Experiment: r.Experiment}
	if _, r.Failure = rig.EmptyDir(dir); r.Failure == nil {
		r.Failure = r.execute(ctx, s, dir, generate)
	}
}

func (r *Result) execute(ctx context.Context, s *rig.Stack, dir string, generate rig.Generator) (err error) {
	settings := rig.LabSettings(r.Lock, r.Scope, r.Commit, r.GuardsOff...)
	if r.Returned {
		settings = append(settings, "CLAIM_PAUSE=600ms") // a return refunds under its lock
	}
	sale, err := s.NewSale(ctx, settings...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sale.Close()) }()
	if err := sale.RemoveGuards(ctx, r.GuardsOff); err != nil {
		return err
	}
	pair, err := sale.StartPair("api")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pair.Stop()) }()
	if r.LateReleases {
		generate = withLateReleases(sale, generate)
	}
	t := rig.Target{URL: pair.Nginx.URL, Admin: s.Signer().Admin(), Secret: s.Secret}
	if r.Script == rig.Retried.Script {
		generate = withRepliesCut(generate)
	}
	if r.Burst, err = send(ctx, dir, t, generate, r.Workload); err != nil {
		return err
	}
	w := r.Workload
	if r.Lock != "none" && r.Scope == "user" {
		w.Limit = 1 // a claim that the lock of its user refuses is not repeated: only one is sure to be made
	}
	r.Totals, err = sale.Audit(ctx, w, r.Acknowledged())
	return err
}

// send sends w to t, on new coupons.
func send(
	ctx context.Context, dir string, t rig.Target, generate rig.Generator, w rig.Workload,
) (b rig.Burst, err error) {
	if t.Coupons, err = rig.NewClient(t.URL).CreateCoupons(ctx, t.Admin, w); err != nil {
		return b, err
	}
	return generate(ctx, dir, t, w)
}

// withRepliesCut returns generate with a proxy that cuts the first reply to each user.
func withRepliesCut(generate rig.Generator) rig.Generator {
	return func(ctx context.Context, dir string, t rig.Target, w rig.Workload) (rig.Burst, error) {
		proxy, err := faultproxy.New("tcp", strings.TrimPrefix(t.URL, "http://"))
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
