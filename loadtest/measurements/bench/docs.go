package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/flashsale/loadtest/rig"
)

// published is the bench.json of which all pages show the figures.
var published = filepath.Join("docs", "benchmarks.json")

// Docs writes docs/benchmarks.md, the charts that the READMEs show and the figures
// that all pages quote, from docs/benchmarks.json. If there is an
// out/bench/bench.json, Docs copies it to docs/benchmarks.json first. It returns an
// error if that is of a quick run, or lacks the value of a target.
func Docs(context.Context) error {
	if err := publish(filepath.Join(outDir, "bench.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r, err := readPublished(".")
	if err != nil {
		return err
	}
	markdown, err := r.page()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join("docs", "benchmarks.md"), []byte(markdown), 0o644); err != nil {
		return err
	}
	return errors.Join(r.writeQuotations(), WritePictures())
}

// publish copies the report in file, if it is of a full run that succeeded.
func publish(file string) error {
	r, err := readReport(file)
	if err != nil {
		return err
	}
	if err := r.publishable(); err != nil {
		return err
	}
	return rig.WriteJSON(published, r)
}

// readPublished reads docs/benchmarks.json below root. Its figures are judged anew:
// the limits may have changed since the run.
func readPublished(root string) (Report, error) {
	r, err := readReport(filepath.Join(root, published))
	r.Targets = targets(r.Figures)
	return r, err
}

// publishable returns an error unless r is of a full run.
func (r Report) publishable() error {
	if len(r.Failures) > 0 {
		return fmt.Errorf("out/bench/bench.json is of a run that failed: %s", strings.Join(r.Failures, "; "))
	}
	if r.Quick {
		return errors.New("out/bench/bench.json is of a quick run: run make bench without BENCH=quick")
	}
	for _, t := range r.Targets {
		if t.Verdict == notMeasured {
			return errors.New("out/bench/bench.json is of a partial run: run make bench without SECTIONS")
		}
	}
	return nil
}
