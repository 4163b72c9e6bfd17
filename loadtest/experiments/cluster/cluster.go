// Package cluster proves and measures the service on a database that is more
// than one server: a primary whose replica is promoted, and a Galera cluster of
// three nodes behind HAProxy, with one writer and with three. It kills, freezes
// and disconnects them in the middle of a sale, and then asks every server for its
// own data.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// Run prints the tables and writes out/cluster/cluster.json. CLUSTER=quick is
// shorter.
func Run(ctx context.Context) error {
	if mode := os.Getenv("CLUSTER"); mode != "" && mode != "quick" {
		return fmt.Errorf("CLUSTER=%s: want quick, or nothing", mode)
	}
	return rig.With(func(s *rig.Stack) error {
		r := run{stack: s, quick: os.Getenv("CLUSTER") == "quick", result: Result{Pass: true}}
		return r.run(ctx)
	}, rig.LargeDatabase...)
}

// A run is one run of the command.
type run struct {
	stack   *rig.Stack
	network *lab.Network
	redis   *lab.Topology
	quick   bool
	result  Result
}

// A Result is the content of cluster.json.
type Result struct {
	rig.Environment
	Promotions  []Promotion  `json:"promotions"`
	Rates       []Rate       `json:"rates"`
	Disruptions []Disruption `json:"disruptions"`
	Pass        bool         `json:"pass"`
}

func (r *run) run(ctx context.Context) (err error) {
	if r.result.Environment, err = r.stack.Environment(ctx); err != nil {
		return err
	}
	if r.network, err = lab.StartNetwork(r.stack.Lab); err != nil {
		return err
	}
	if r.redis, err = lab.StartTopology(r.stack.Lab, "cluster"); err != nil {
		return err
	}
	if err := r.runPromotions(ctx); err != nil {
		return err
	}
	if err := r.runGalera(ctx); err != nil {
		return err
	}
	if err := rig.WriteJSON(filepath.Join("out", "cluster", "cluster.json"), r.result); err != nil {
		return err
	}
	return errors.Join(r.result.writePage(), rig.Proven(r.result.Pass))
}

func (r *run) runPromotions(ctx context.Context) error {
	steps := rig.NewSteps(len(promotions()))
	for _, p := range promotions() {
		steps.Next("%s replication, %s", p.Replication, p.cause())
		p, err := r.promote(ctx, p)
		if err != nil {
			return err
		}
		r.result.Promotions, r.result.Pass = append(r.result.Promotions, p), r.result.Pass && p.Pass
	}
	fmt.Println("The primary is killed in mid-sale and its replica promoted:")
	promotionsTable(r.result.Promotions).Print()
	return nil
}

func (r *run) runGalera(ctx context.Context) error {
	s, err := startSite(r.stack.Lab, r.network)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := r.measureRates(ctx, s); err != nil {
		return err
	}
	return r.runDisruptions(ctx, s)
}
