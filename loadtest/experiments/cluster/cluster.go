// Package cluster proves the service on a database that is more
// than one server: a primary whose replica is promoted, and three members of a Galera
// cluster or of a MySQL replication group behind HAProxy, with one writer and with
// three. It kills, freezes and disconnects them in the middle of a sale, and then asks
// every server for its own data.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// Run prints the tables and writes out/cluster/cluster.json. CLUSTER=quick is
// shorter. CLUSTER=vitess runs Vitess instead, and writes out/vitess/vitess.json.
func Run(ctx context.Context) error {
	if os.Getenv("CLUSTER") == "vitess" {
		return rig.With(func(s *rig.Stack) error { return runVitess(ctx, &run{stack: s}) }, rig.LargeDatabase...)
	}
	quick, err := rig.Quick("CLUSTER")
	if err != nil {
		return err
	}
	return rig.With(func(s *rig.Stack) error {
		r := run{stack: s, quick: quick}
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
	Disruptions []*Disruption `json:"disruptions"`
	NotRun      []string      `json:"not_run"` // what the installed database server cannot do
	Pass        bool          `json:"pass"`
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
	var failed error
	for _, k := range kinds {
		if err := r.runKind(ctx, k); errors.Is(err, lab.ErrNoGroup) {
			r.result.NotRun = append(r.result.NotRun, err.Error())
		} else {
			failed = errors.Join(failed, err)
		}
	}
	return errors.Join(failed, r.result.conclude(failed == nil)) // what was run before as well
}

// runKind disrupts a cluster. Promotions need MariaDB, as Galera does.
func (r *run) runKind(ctx context.Context, k kind) (err error) {
	name := k.Name
	if k.GroupKind == lab.Galera {
		name = "Promotions and " + name
	}
	if err := r.stack.MySQL.CanJoin(ctx, k.GroupKind); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if k.GroupKind == lab.Galera {
		if err := r.disrupt(ctx, r.promotions()); err != nil {
			return err
		}
	}
	s, err := startSite(r.stack.Lab, r.network, k)
	if err != nil {
		return err
	}
	defer s.stop()
	return r.disrupt(ctx, r.disruptions(s))
}

func (r *run) disrupt(ctx context.Context, rows []*Disruption) error {
	for _, d := range rows {
		d.run = r
	}
	done, err := trial.Run(ctx, rows...)
	r.result.Disruptions = append(r.result.Disruptions, done...)
	return err
}

// conclude prints and writes the result. complete says that all of it was run.
func (r *Result) conclude(complete bool) error {
	disruptions := trial.Section("Servers and HAProxy fail in mid-sale",
		"A primary that is killed without a cluster ends, and its replica is promoted. Acknowledged orders that a server "+
			"does not have are missing.", disruptionColumns, r.Disruptions)
	r.Pass = complete && report.Pass(disruptions)
	summary := "Sales on a primary whose replica is promoted, and on three members of a Galera cluster or a " +
		"replication group behind HAProxy, with kills, freezes and cut-offs in the middle. Every promise is judged by " +
		"every server's own data."
	if len(r.NotRun) > 0 {
		summary += " Not run: " + strings.Join(r.NotRun, "; ") + "."
	}
	report.Say("%s", summary)
	return report.Conclude("cluster", r, report.Report{
		Title: "A database of several servers", Pass: r.Pass, Environment: r.Environment, Summary: summary,
		Sections: []report.Section{disruptions},
	})
}
