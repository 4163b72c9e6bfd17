package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Docs writes docs/benchmarks.md, the charts that the READMEs show and the
// figures that all pages quote, from docs/benchmarks.json. If there is an out/bench/bench.json, Docs copies it to
// docs/benchmarks.json first. It returns an error if that is of a quick run, or
// lacks the value of a target.
func Docs(context.Context) error {
	latest, err := os.ReadFile(filepath.Join(outDir, "bench.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return write()
	case err != nil:
		return err
	}
	if err := publishable(latest); err != nil {
		return err
	}
	if err := os.MkdirAll("docs", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join("docs", "benchmarks.json"), latest, 0o644); err != nil {
		return err
	}
	return write()
}

// write generates all that comes from docs/benchmarks.json.
func write() error {
	figures, err := os.ReadFile(filepath.Join("docs", "benchmarks.json"))
	if err != nil {
		return err
	}
	markdown, err := page(figures)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join("docs", "benchmarks.md"), []byte(markdown), 0o644); err != nil {
		return err
	}
	return errors.Join(writeQuotations(figures), WritePictures())
}

// publishable returns an error unless benchJSON is of a full run.
func publishable(benchJSON []byte) error {
	var r Report
	if err := json.Unmarshal(benchJSON, &r); err != nil {
		return err
	}
	if r.Quick {
		return errors.New("out/bench/bench.json is of a quick run: run make bench without BENCH=quick")
	}
	for _, t := range r.Targets {
		if !t.measured() {
			return errors.New("out/bench/bench.json is of a partial run: run make bench without SECTIONS")
		}
	}
	return nil
}
