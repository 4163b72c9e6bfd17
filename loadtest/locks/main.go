// Command locks compares the distributed locks on the service itself, two
// instances behind nginx:
//
//	locks pview        666 page views at once under every lock; out/pview/pview.json
//	locks topologies   claims and page views on Redis in every shape; out/topologies/topologies.json
//
// It runs at the root of the repository, where make has built bin/. It exits 0
// only if everything that should hold held, and every control broke.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"example.com/flashsale/loadtest/rig"
)

var verbs = map[string]func(context.Context, *rig.Stack) error{"pview": pageViews, "topologies": topologies}

// errNotProven is what a run ends with that printed a failed verdict.
var errNotProven = errors.New("not proven: see the rows that say NO")

func main() {
	if len(os.Args) != 2 || verbs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: locks pview | topologies")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, verbs[os.Args[1]])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "locks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, verb func(context.Context, *rig.Stack) error) error {
	s, err := rig.Start()
	if err != nil {
		return err
	}
	return errors.Join(verb(ctx, s), s.Close())
}

// save writes v, with the circumstances of the run, to out/name/name.json.
func save(ctx context.Context, s *rig.Stack, name string, rows any, pass bool) error {
	c, err := s.Circumstances(ctx)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(struct {
		rig.Circumstances
		Rows any  `json:"rows"`
		Pass bool `json:"pass"`
	}{c, rows, pass}, "", "\t")
	if err != nil {
		return err
	}
	path := filepath.Join("out", name, name+".json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return err
	}
	if !pass {
		return errNotProven
	}
	return nil
}

// binary is a program that make has built.
func binary(name string) (string, error) { return filepath.Abs(filepath.Join("bin", name)) }
