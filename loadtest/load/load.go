// Package load sends the workloads of the demo to a service that is already
// running, at BASE_URL, and judges the replies and the service's own audit.
package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/flashsale/loadtest/experiments/demo"
	"example.com/flashsale/loadtest/rig"
)

// Run sends each of the three workloads to the service with k6, on new coupons.
// The service is expected to have all guards, and no limit per user
// (USER_RATE=0): one workload has 666 claims of one user.
//
// ADMIN_TOKEN, or else a token signed with JWT_SECRET, creates and audits the
// coupons. The users' tokens come from the file TOKENS, or are signed with
// JWT_SECRET.
func Run(ctx context.Context) error { return sendAll(ctx, "load", rig.K6) }

// RunJMeter is Run with JMeter.
func RunJMeter(ctx context.Context) error { return sendAll(ctx, "jmeter", rig.JMeter) }

func sendAll(ctx context.Context, name string, generate rig.Generator) error {
	t, err := targetFrom(os.Getenv)
	if err != nil {
		return err
	}
	out, err := rig.EmptyDir("out", name)
	if err != nil {
		return err
	}
	workloads := []rig.Workload{rig.OneUser, rig.ManyUsers, rig.SevenEach}
	steps := rig.NewSteps(len(workloads))
	var results []demo.Result
	for i, w := range workloads {
		steps.Next("%s to %s", w.Title(), t.URL)
		r, err := send(ctx, filepath.Join(out, fmt.Sprintf("%02d", i+1)), t, generate, w)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	fmt.Println()
	demo.Table(results).Print()
	environment, err := rig.ThisMachine(ctx)
	if err != nil {
		return err
	}
	failed := slices.ContainsFunc(results, func(r demo.Result) bool { return !r.Verdict().Pass() })
	return errors.Join(demo.WriteReport(name, "Load on "+t.URL, "to a running service, and checked by its own audit",
		environment, results), rig.Proven(!failed))
}

func send(ctx context.Context, dir string, t rig.Target, generate rig.Generator, w rig.Workload) (demo.Result, error) {
	r := demo.Result{Experiment: demo.Experiment{Workload: w, Lock: "its own", Commit: "its own"}, Remote: true}
	r.Lesson = "The totals are the service's own (REST), not the database's."
	if _, err := rig.EmptyDir(dir); err != nil {
		return r, err
	}
	client := rig.NewClient(t.URL)
	var err error
	if t.Coupons, err = client.CreateCoupons(ctx, t.Admin, w); err != nil {
		return r, err
	}
	if r.Burst, err = generate(ctx, dir, t, w); err != nil {
		return r, err
	}
	accounts, err := client.Accounts(ctx, t.Admin, t.Coupons)
	r.Totals = rig.Total(accounts, w.Users)
	return r, err
}

// targetFrom reads the service's address and the tokens from the environment.
func targetFrom(getenv func(string) string) (rig.Target, error) {
	t := rig.Target{
		URL:   strings.TrimRight(getenv("BASE_URL"), "/"),
		Admin: getenv("ADMIN_TOKEN"), Secret: getenv("JWT_SECRET"), TokenFile: getenv("TOKENS"),
	}
	switch {
	case t.URL == "":
		return t, errors.New("BASE_URL is not set: the address of the service, such as http://127.0.0.1:8080")
	case t.Secret == "" && (t.Admin == "" || t.TokenFile == ""):
		return t, errors.New("set JWT_SECRET, or both ADMIN_TOKEN and TOKENS (a file of user tokens, one in a line)")
	}
	if t.Admin == "" {
		t.Admin = rig.TokenSigner(t.Secret).Admin()
	}
	return t, nil
}
