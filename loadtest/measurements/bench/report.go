package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A Report is bench.json.
type Report struct {
	rig.Environment
	Quick       bool      `json:"quick"` // too short for figures to be published
	Repetitions int       `json:"repetitions"`
	Seconds     float64   `json:"seconds"` // duration of the run
	Figures     []*Figure `json:"figures"`
	Targets     []Target  `json:"targets"`
}

// outDir is the directory of all output files.
var outDir = filepath.Join("out", "bench")

// report writes bench.json and bench.md, and prints the latter.
func (b *bench) report(ctx context.Context) error {
	environment, err := b.Environment(ctx)
	if err != nil {
		return err
	}
	r := Report{
		Environment: environment, Quick: quick(), Repetitions: b.repetitions,
		Seconds: time.Since(b.start).Seconds(), Figures: b.all, Targets: targets(b.Figures),
	}
	file := filepath.Join(outDir, "bench.json")
	if err := rig.WriteJSON(file, r); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	markdown, err := page(text)
	if err != nil {
		return err
	}
	b.printTables(r.Targets)
	if err := os.WriteFile(filepath.Join(outDir, "bench.md"), []byte(markdown), 0o644); err != nil {
		return err
	}
	return b.writePage(r)
}

// printTables prints the tables of the sections that were measured, and all
// targets.
func (b *bench) printTables(targets []Target) {
	for _, s := range sections {
		for _, t := range s.tables {
			if s.selected() {
				fmt.Printf("\n%s:\n", t.name)
				t.of(b.Figures).Print()
			}
		}
	}
	fmt.Println("\ntargets:")
	targetTable(targets).Print()
}
