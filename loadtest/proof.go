package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// A Proof is proof.json: what was run on what, and what came of it.
type Proof struct {
	rig.Circumstances
	Runs []Run `json:"runs"`
	Pass bool  `json:"pass"`
}

// A Run is one experiment in a proof. Guards are those in force.
type Run struct {
	Name          string         `json:"name"`
	Workload      string         `json:"workload"`
	Requests      int            `json:"requests"`
	Users         int            `json:"users"`
	Stock         int            `json:"stock"`
	Lock          string         `json:"lock"`
	Scope         string         `json:"scope"`
	Commit        string         `json:"commit"`
	Guards        []string       `json:"guards"`
	Expect        string         `json:"expect"`
	Accepted      int            `json:"accepted"`
	Orders        int            `json:"orders"`
	DistinctUsers int            `json:"distinct_users"`
	Oversold      int            `json:"oversold"`
	Duplicates    int            `json:"duplicates"`
	Undersold     int            `json:"undersold"`
	AckedMissing  int            `json:"acked_missing"`
	MaxInFlight   int            `json:"max_in_flight"`
	Instances     map[string]int `json:"instances"`
	P50           float64        `json:"p50_ms"`
	P99           float64        `json:"p99_ms"`
	Pass          bool           `json:"pass"`
}

func newProof(ctx context.Context, server *lab.MySQL, results []Result) (Proof, error) {
	at, err := rig.Describe(ctx, server)
	p := Proof{Circumstances: at, Pass: len(results) > 0}
	for _, r := range results {
		p.Runs = append(p.Runs, r.run())
		p.Pass = p.Pass && r.Pass()
	}
	return p, err
}

func (r Result) run() Run {
	return Run{
		Name: r.name(), Workload: r.Script,
		Requests: r.Requests(), Users: r.Users, Stock: r.Stock,
		Lock: r.Lock, Scope: r.Scope, Commit: r.Commit, Guards: r.Guards(), Expect: r.Expect(),
		Accepted: len(r.Acked), Orders: r.Audit.Orders, DistinctUsers: r.DistinctUsers,
		Oversold: r.Oversold, Duplicates: r.Duplicates, Undersold: r.Undersold, AckedMissing: r.AckedMissing,
		MaxInFlight: r.MaxInFlight(), Instances: r.Instances,
		P50: inMilliseconds(r.Latency(0.5)), P99: inMilliseconds(r.Latency(0.99)), Pass: r.Pass(),
	}
}

// name tells the runs of a proof apart.
func (r Result) name() string {
	s := r.Script + "/" + r.Lock
	if r.Lock == "redis" {
		s += "-per-" + r.Scope
	}
	for _, guard := range r.Off {
		s += "/no-" + guard
	}
	if r.Commit != "each" {
		s += "/" + r.Commit
	}
	if r.Stale {
		s += "/late-releases"
	}
	return s
}

func (p Proof) write(file string) error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}

func inMilliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}
