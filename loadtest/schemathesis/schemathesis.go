// Package schemathesis compares the service with its OpenAPI document:
// Schemathesis generates requests from the document, valid and invalid ones, and
// checks every response against it.
package schemathesis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// examples is how many requests Schemathesis generates for each operation in
// each of its phases. With it the runs have more than 20,000 requests together.
const examples = "500"

// A run is one run of Schemathesis. The seed makes it send the same requests
// each time.
type run struct{ name, url, token, seed string }

// Run starts an instance, and two behind nginx, and tests both as a user and as
// an admin. The error is nil only if nothing was found. EXAMPLES changes the
// number of requests for each operation. The output of each run is in
// out/schemathesis.
func Run(ctx context.Context) error {
	return rig.With(func(s *rig.Stack) error {
		sale, err := s.NewSale(ctx, "LAB=false", "USER_RATE=0", "ADDRESS_RATE=0") // one user sends all requests
		if err != nil {
			return err
		}
		return sale.With(2, func(pair *rig.Fleet) error {
			direct, err := sale.StartInstance("api", "c")
			if err != nil {
				return err
			}
			user, admin := s.Signer().User(42), s.Signer().Admin()
			return runAll(ctx, os.Stdout, []run{
				{"direct-user", direct.URL(), user, "1"}, {"direct-admin", direct.URL(), admin, "2"},
				{"nginx-user", pair.Nginx.URL, user, "3"}, {"nginx-admin", pair.Nginx.URL, admin, "4"},
			})
		})
	})
}

// runAll runs all runs at once, because Schemathesis uses one CPU, and prints a
// line for each.
func runAll(ctx context.Context, out io.Writer, runs []run) error {
	counts, errs := make([]int, len(runs)), make([]error, len(runs))
	start := time.Now()
	var group errgroup.Group
	for i, r := range runs {
		group.Go(func() error {
			counts[i], errs[i] = r.run(ctx)
			return errs[i]
		})
	}
	_ = group.Wait() // each error is in errs
	total := 0
	for i, r := range runs {
		total += counts[i]
		fmt.Fprintf(out, "%-14s %6d requests  %s\n", r.name, counts[i], verdict(errs[i]))
	}
	fmt.Fprintf(out, "%-14s %6d requests in %s\n", "together", total, time.Since(start).Round(time.Second))
	return errors.Join(errs...)
}

func verdict(err error) string {
	if err != nil {
		return "NO"
	}
	return "yes, all as documented"
}

// run returns the number of requests that were generated. The error includes the
// end of the output, if there was a failure.
func (r run) run(ctx context.Context) (int, error) {
	path, err := rig.Binary(filepath.Join("schemathesis", "bin", "schemathesis"))
	if err != nil {
		return 0, err
	}
	source, err := filepath.Abs(filepath.Join("loadtest", "schemathesis"))
	if err != nil {
		return 0, err
	}
	dir, err := rig.EmptyDir("out", "schemathesis", r.name)
	if err != nil {
		return 0, err
	}
	n := examples
	if v := os.Getenv("EXAMPLES"); v != "" {
		n = v
	}
	err = lab.Run(ctx, lab.Program{
		Name: "schemathesis", Path: path, Dir: dir, Env: []string{"PYTHONPATH=" + source, "PYTHONDONTWRITEBYTECODE=1"},
		Args: []string{
			"--config-file", filepath.Join(source, "schemathesis.toml"), "--no-color", "run", r.url + "/openapi.json",
			"--seed", r.seed, "--max-examples", n, "--header", "Authorization: Bearer " + r.token,
		},
	})
	count, countErr := requests(filepath.Join(dir, "schemathesis.log"))
	return count, errors.Join(err, countErr)
}

var generated = regexp.MustCompile(`(?m)^  (\d+) generated`)

// requests returns the number of requests in the summary of a run's output.
func requests(log string) (int, error) {
	text, err := os.ReadFile(log)
	if err != nil {
		return 0, err
	}
	match := generated.FindSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("%s has no summary", log)
	}
	return strconv.Atoi(string(match[1]))
}
