package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"example.com/flashsale/internal/lab"
)

// A generator sends a workload's claims to a target.
type generator func(ctx context.Context, dir string, t Target, w Workload) (Burst, error)

// demo runs all experiments with k6.
func demo(ctx context.Context) error { return prove(ctx, "demo", k6, experiments) }

// attempts bounds how often a control that broke nothing is tried again: an
// overlap within one transaction's time is likely, not certain. One break
// proves the point; never breaking is a failure.
const attempts = 5

// prove runs experiments, prints their table and writes out/<name>/proof.json.
func prove(ctx context.Context, name string, generate generator, todo []Experiment) error {
	out, err := freshDir("out", name)
	if err != nil {
		return err
	}
	l, err := lab.Open()
	if err != nil {
		return err
	}
	defer l.Close()
	server, err := l.MySQL()
	if err != nil {
		return err
	}
	var results []Result
	for i, e := range todo {
		fmt.Printf("%2d/%d  %-24s lock %-16s guards off: %-13s ", i+1, len(todo), e.title(), e.lockTitle(), e.offTitle())
		began := time.Now()
		dir := filepath.Join(out, fmt.Sprintf("%02d", i+1))
		r := experiment(ctx, l, server, dir, generate, e)
		for again := 1; again < attempts && r.TooQuiet(); again++ {
			fmt.Print("again ")
			r = experiment(ctx, l, server, dir, generate, e)
		}
		if ctx.Err() != nil {
			return errors.Join(errors.New("interrupted"), context.Cause(ctx))
		}
		fmt.Printf("%-3s %5.1f s\n", yes(r.Pass()), time.Since(began).Seconds())
		results = append(results, r)
	}
	fmt.Print("\n", table(results))
	return conclude(ctx, server, filepath.Join(out, "proof.json"), results)
}

func conclude(ctx context.Context, server *lab.MySQL, file string, results []Result) error {
	p, err := newProof(ctx, server, results)
	if err != nil {
		return err
	}
	if err := p.write(file); err != nil {
		return err
	}
	fmt.Printf("\n%s: pass %v\n", file, p.Pass)
	if !p.Pass {
		return errNotProven
	}
	return nil
}

// experiment runs e on a stack and data of its own.
func experiment(ctx context.Context, l *lab.Lab, server *lab.MySQL, dir string, generate generator, e Experiment) Result {
	r := Result{Experiment: e, Burst: newBurst()}
	if _, r.Failure = freshDir(dir); r.Failure != nil {
		return r
	}
	var s *Stack
	if s, r.Failure = startStack(ctx, l, server, filepath.Join("bin", "api"), e); r.Failure != nil {
		return r
	}
	r.Failure = errors.Join(s.run(ctx, dir, generate, &r), s.Stop())
	return r
}

func (s *Stack) run(ctx context.Context, dir string, generate generator, r *Result) error {
	service, err := s.service()
	if err != nil {
		return err
	}
	coupons, err := service.onSale(ctx, r.Workload)
	if err != nil {
		return err
	}
	t := Target{Service: service, Coupons: coupons, Secret: s.Secret}
	if r.Stale {
		r.Burst, err = s.withLateReleases(ctx, dir, generate, t, r.Workload)
	} else {
		r.Burst, err = generate(ctx, dir, t, r.Workload)
	}
	if err != nil {
		return err
	}
	r.Audit, err = audit(ctx, s.DB, r.Workload, r.Acked)
	return err
}

// service is the stack seen from before nginx.
func (s *Stack) service() (Service, error) {
	admin, err := token(s.Secret, 1, true)
	return Service{URL: s.Nginx.URL, Admin: admin}, err
}

// freshDir makes an empty directory, whatever was there.
func freshDir(parts ...string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(parts...))
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
}
