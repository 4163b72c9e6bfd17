package demo

import (
	"fmt"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// A Proof is the content of proof.json.
type Proof struct {
	rig.Environment
	Runs []Record `json:"runs"`
	Pass bool     `json:"pass"`
}

// A Record is one experiment in a proof. Guards are those in force.
type Record struct {
	Name     string   `json:"name"`
	Workload string   `json:"workload"`
	Requests int      `json:"requests"`
	Users    int      `json:"users"`
	Stock    int      `json:"stock"`
	Lock     string   `json:"lock"`
	Scope    string   `json:"scope"`
	Commit   string   `json:"commit"`
	Guards   []string `json:"guards"`
	Expect   string   `json:"expect"`
	Accepted int      `json:"accepted"`
	rig.Totals
	MaxInFlight int             `json:"max_in_flight"`
	Instances   map[string]int  `json:"instances"`
	P50         float64         `json:"p50_ms"`
	P99         float64         `json:"p99_ms"`
	Contenders  int             `json:"contenders"` // in flight with the claim that got the last order of a round
	Verdict     verdict.Verdict `json:"verdict"`
	Pass        bool            `json:"pass"`
}

func (r *Result) record() Record {
	return Record{
		Name: r.name(), Workload: r.Script,
		Requests: r.Requests(), Users: r.Users, Stock: r.Stock,
		Lock: r.Lock, Scope: r.Scope, Commit: r.Commit, Guards: r.Guards(), Expect: r.Expect(),
		Accepted: len(r.Acknowledged()), Totals: r.Totals, MaxInFlight: r.MaxInFlight(), Instances: r.Instances(),
		P50: rig.Milliseconds(r.Latency(0.5)), P99: rig.Milliseconds(r.Latency(0.99)),
		Contenders: r.Contenders(r.BurstSize()), Verdict: r.Verdict(), Pass: r.Verdict().Pass(),
	}
}

// name returns a name that no other run of the proof has.
func (r *Result) name() string {
	s := r.Script + "/" + r.Lock
	if r.Lock == "redis" {
		s += "-per-" + r.Scope
	}
	for _, guard := range r.GuardsOff {
		s += "/no-" + guard
	}
	if r.Commit != "each" {
		s += "/" + r.Commit
	}
	if r.Segments > 1 {
		s += "/segments"
	}
	if r.Limit > 1 {
		s += fmt.Sprintf("/%d-each", r.Limit)
	}
	if r.LateReleases {
		s += "/late-releases"
	}
	return s
}
