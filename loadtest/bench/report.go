package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A Report is bench.json.
type Report struct {
	rig.Circumstances
	Quick       bool      `json:"quick"` // too short for figures to be published
	Repetitions int       `json:"repetitions"`
	Seconds     float64   `json:"seconds"` // duration of the run
	Figures     []*Figure `json:"figures"`
	Targets     []Target  `json:"bars"`
}

// outDir is the directory of all output files.
var outDir = filepath.Join("out", "bench")

// report writes the files and prints the table.
func (b *bench) report(ctx context.Context) error {
	circumstances, err := b.Circumstances(ctx)
	if err != nil {
		return err
	}
	r := Report{
		Circumstances: circumstances, Quick: os.Getenv("BENCH") == "quick", Repetitions: b.repetitions,
		Seconds: time.Since(b.start).Seconds(), Figures: b.all, Targets: targets(&b.Figures),
	}
	if err := os.MkdirAll(outDir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(outDir, "bench.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	var table strings.Builder
	r.write(&table)
	fmt.Print(table.String())
	return os.WriteFile(filepath.Join(outDir, "bench.md"), []byte(table.String()), 0o644)
}

// write writes the report as Markdown.
func (r Report) write(w io.Writer) {
	fmt.Fprintf(w, "Measured %s at commit %.12s, %d repetitions, medians (lowest – highest), in one run of %.0f s",
		r.Time.Format(time.DateOnly), r.Commit, r.Repetitions, r.Seconds)
	if r.Quick {
		fmt.Fprint(w, "; **a quick run, too short for figures to be published**")
	}
	fmt.Fprintf(w, ".\n%s, %d cores, %s; load generators, service and servers share it.\n", r.Machine.CPU, r.Machine.Cores, r.Machine.Mem)
	fmt.Fprintf(w, "%s.\nDurability: %s.\n\n", pairs(r.Versions), pairs(r.Durability))
	fmt.Fprint(w, "| target | value | limit | |\n|---|--:|--:|---|\n")
	for _, t := range r.Targets {
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", t.Name, formatNumber(t.Value), t.limit(), t.verdict())
	}
	section := ""
	for _, f := range r.Figures {
		if f.Max == 0 {
			continue // no claim was refused
		}
		if s, _, _ := strings.Cut(f.Name, "/"); s != section {
			section = s
			fmt.Fprintf(w, "\n| %s | | median | lowest | highest |\n|---|---|--:|--:|--:|\n", section)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", strings.TrimPrefix(f.Name, section+"/"), f.Unit, formatNumber(f.Median), formatNumber(f.Min), formatNumber(f.Max))
	}
}

func (t Target) limit() string {
	if t.AtMost {
		return "≤ " + formatNumber(t.Limit)
	}
	return "≥ " + formatNumber(t.Limit)
}

func (t Target) verdict() string {
	switch {
	case math.IsNaN(t.Value):
		return "not measured"
	case t.Met():
		return "met"
	}
	return "**missed**"
}

func pairs(m map[string]string) string {
	var all []string
	for k, v := range m {
		all = append(all, k+" "+v)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
