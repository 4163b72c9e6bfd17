// Package bench measures the service and what it is compared to, as Go benchmarks: what
// a claim costs, how the service grows, what it makes of too much, and of a crowd. It
// shows what a run of them measured beside its limits.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/flashsale/loadtest/rig"
)

// Published is the text of the run that the pages quote.
var Published = filepath.Join("docs", "runs", "bench.txt")

var measured = filepath.Join("out", "bench", "bench.txt")

// Report prints the headline figures of the last make bench. It returns an error if a
// benchmark failed, or if it had not all of them.
func Report(context.Context) error {
	r, err := Read(measured)
	if err != nil {
		return err
	}
	headlineTable(r).Print()
	fmt.Println(measured)
	return r.whole()
}

// Docs writes docs/benchmarks.md from the published run. If there is a later one in out, it is
// published first. It returns an error if that failed, or if it had not all benchmarks.
func Docs(context.Context) error {
	if err := publish(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r, err := Read(Published)
	if err != nil {
		return err
	}
	text, err := r.page()
	if err != nil {
		return err
	}
	return rig.WriteFile(filepath.Join("docs", "benchmarks.md"), []byte(text))
}

func publish() error {
	r, err := Read(measured)
	if err != nil {
		return err
	}
	if err := r.whole(); err != nil {
		return fmt.Errorf("%s: %w", measured, err)
	}
	return os.WriteFile(Published, r.text, 0o644)
}
