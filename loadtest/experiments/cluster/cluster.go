// Package cluster proves and measures the service on a database that is more
// than one server: a primary whose replica is promoted, and three members of a Galera
// cluster or of a MySQL replication group behind HAProxy, with one writer and with
// three. It kills, freezes and disconnects them in the middle of a sale, and then asks
// every server for its own data.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// Run prints the tables and writes out/cluster/cluster.json. CLUSTER=quick is
// shorter.
func Run(ctx context.Context) error {
	quick, err := rig.Quick("CLUSTER")
	if err != nil {
		return err
	}
	return rig.With(func(s *rig.Stack) error {
		r := run{stack: s, quick: quick, result: Result{Pass: true}}
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
	NotRun      []string     `json:"not_run"` // what the installed database server cannot do
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
	failed := errors.Join(r.runMariaDB(ctx), r.runGroups(ctx))
	r.result.Pass = r.result.Pass && failed == nil
	r.result.print() // what was measured before as well
	if err := rig.WriteJSON(filepath.Join("out", "cluster", "cluster.json"), r.result); err != nil {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, r.result.writePage(), rig.Proven(r.result.Pass))
}

// runMariaDB runs what needs MariaDB.
func (r *run) runMariaDB(ctx context.Context) error {
	if err := r.stack.MySQL.HasGalera(ctx); errors.Is(err, lab.ErrNoGalera) {
		r.result.NotRun = append(r.result.NotRun, fmt.Sprintf("Promotions and Galera: %v", err))
		return nil
	} else if err != nil {
		return err
	}
	if err := r.runPromotions(ctx); err != nil {
		return err
	}
	return r.runSite(ctx, startGalera, lab.OneWriter, lab.AllWriters)
}

// runGroups runs what needs MySQL with its plugin.
func (r *run) runGroups(ctx context.Context) error {
	if err := r.stack.MySQL.HasGroupReplication(ctx); errors.Is(err, lab.ErrNoGroupReplication) {
		r.result.NotRun = append(r.result.NotRun, fmt.Sprintf("Group Replication: %v", err))
		return nil
	} else if err != nil {
		return err
	}
	if err := r.runSite(ctx, startGroup(lab.SinglePrimary), lab.OneWriter); err != nil {
		return err
	}
	return r.runSite(ctx, startGroup(lab.MultiPrimary), lab.AllWriters)
}

// runSite measures rates on a cluster, and disrupts it.
func (r *run) runSite(
	ctx context.Context, start func(*lab.Lab, []*lab.Host) (cluster, error), routings ...lab.Routing,
) error {
	s, err := startSite(r.stack.Lab, r.network, start, routings...)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := r.measureRates(ctx, s); err != nil {
		return err
	}
	return r.runDisruptions(ctx, s)
}

func (r *run) runPromotions(ctx context.Context) error {
	steps := rig.NewSteps(len(promotions()))
	for _, p := range promotions() {
		steps.Next("%s replication, %s", p.Replication, p.cause())
		p, err := r.promote(ctx, p)
		if err != nil {
			return err
		}
		r.result.Promotions, r.result.Pass = append(r.result.Promotions, p), r.result.Pass && p.Verdict.Pass()
	}
	return nil
}

func (r Result) print() {
	for _, t := range []struct {
		title string
		report.Table
		rows int
	}{
		{"The primary is killed in mid-sale and its replica promoted:", promotionsTable(r.Promotions), len(r.Promotions)},
		{"Claims of one coupon, by three instances:", ratesTable(r.Rates), len(r.Rates)},
		{"Members and HAProxy fail in mid-sale:", disruptionColumns.Table(r.Disruptions), len(r.Disruptions)},
	} {
		if t.rows > 0 {
			fmt.Println("\n" + t.title)
			t.Print()
		}
	}
	for _, reason := range r.NotRun {
		fmt.Println("\nNot run:", reason)
	}
}
