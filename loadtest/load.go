package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// load attacks the service at BASE_URL, which is expected to be as shipped,
// with each of the three workloads on coupons of its own.
//
// ADMIN_TOKEN, or else a token made from JWT_SECRET, creates and audits them;
// the users' tokens come from the file TOKENS, or are made from JWT_SECRET.
func load(ctx context.Context) error { return attackAll(ctx, "load", k6) }

func attackAll(ctx context.Context, name string, generate generator) error {
	t, err := remote()
	if err != nil {
		return err
	}
	out, err := freshDir("out", name)
	if err != nil {
		return err
	}
	var results []Result
	for _, w := range []Workload{oneUser, manyUsers, sevenEach} {
		fmt.Printf("%-24s against %s ", w.title(), t.URL)
		began := time.Now()
		r, err := attack(ctx, out, t, generate, w)
		if err != nil {
			return err
		}
		fmt.Printf("%-3s %5.1f s\n", yes(r.Pass()), time.Since(began).Seconds())
		results = append(results, r)
	}
	fmt.Print("\n", table(results))
	for _, r := range results {
		if !r.Pass() {
			return errNotProven
		}
	}
	return nil
}

func attack(ctx context.Context, out string, t Target, generate generator, w Workload) (Result, error) {
	dir, err := freshDir(out, w.Script)
	if err != nil {
		return Result{}, err
	}
	if t.Coupons, err = t.onSale(ctx, w); err != nil {
		return Result{}, err
	}
	r := Result{Experiment: Experiment{Workload: w, Lock: "its own", Commit: "its own", Lesson: "The account is the service's own (REST), not the database's."}, Remote: true}
	if r.Burst, err = generate(ctx, dir, t, w); err != nil {
		return Result{}, err
	}
	r.Audit, err = t.audit(ctx, w, t.Coupons)
	return r, err
}

// remote reads from the environment whom to attack.
func remote() (Target, error) {
	t := Target{Secret: os.Getenv("JWT_SECRET"), Tokens: os.Getenv("TOKENS")}
	t.URL, t.Admin = strings.TrimRight(os.Getenv("BASE_URL"), "/"), os.Getenv("ADMIN_TOKEN")
	switch {
	case t.URL == "":
		return Target{}, errors.New("BASE_URL is not set: the address of the service, as http://127.0.0.1:8080")
	case t.Secret == "" && (t.Admin == "" || t.Tokens == ""):
		return Target{}, errors.New("set JWT_SECRET, or both ADMIN_TOKEN and TOKENS (a file of user tokens, one in a line)")
	}
	var err error
	if t.Admin == "" {
		t.Admin, err = token(t.Secret, 1, true)
	}
	return t, err
}
