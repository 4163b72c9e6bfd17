package bench

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	r, err := readReport(published)
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

// publish copies the report in file, if it is of a full run.
func publish(file string) error {
	r, err := readReport(file)
	if err != nil {
		return err
	}
	if err := r.publishable(); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(published, text, 0o644)
}

// publishable returns an error unless r is of a full run.
func (r Report) publishable() error {
	if r.Quick {
		return errors.New("out/bench/bench.json is of a quick run: run make bench without BENCH=quick")
	}
	for _, t := range r.Targets {
		if t.Value == nil {
			return errors.New("out/bench/bench.json is of a partial run: run make bench without SECTIONS")
		}
	}
	return nil
}
