package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A Report is bench.json.
type Report struct {
	rig.Environment
	Quick       bool     `json:"quick"` // too short for figures to be published
	Repetitions int      `json:"repetitions"`
	Seconds     float64  `json:"seconds"` // duration of the run
	Figures     Figures  `json:"figures"`
	Targets     []Target `json:"targets"`
	Failures    []string `json:"failures,omitempty"` // of sections; a run that was interrupted has one
}

// outDir is the directory of all output files.
var outDir = filepath.Join("out", "bench")

// readReport reads a bench.json.
func readReport(file string) (r Report, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// report writes bench.json, bench.md and report.html, and prints the tables of the
// sections that were measured, and all targets. failures are what went wrong.
func (b *bench) report(ctx context.Context, failures []error) error {
	environment, err := b.Environment(ctx)
	if err != nil {
		return err
	}
	r := Report{
		Environment: environment, Quick: b.scale == shortened, Repetitions: b.repetitions,
		Seconds: time.Since(b.start).Seconds(), Figures: b.Figures, Targets: targets(b.Figures),
	}
	for _, err := range failures {
		r.Failures = append(r.Failures, err.Error())
	}
	if err := rig.WriteJSON(filepath.Join(outDir, "bench.json"), r); err != nil {
		return err
	}
	for _, s := range sections {
		for _, t := range s.tables {
			if s.selected() {
				fmt.Printf("\n%s:\n", t.name)
				t.of(r.Figures).Print()
			}
		}
	}
	fmt.Println("\ntargets:")
	targetTable(r.Targets).Print()
	markdown, err := r.page()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(outDir, "bench.md"), []byte(markdown), 0o644); err != nil {
		return err
	}
	return writeHTML(r, b.latencies, b.audited)
}
