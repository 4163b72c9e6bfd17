package bench

import (
	"bytes"
	"errors"
	"os"
	"path"
	"regexp"
	"slices"

	"golang.org/x/perf/benchfmt"

	"example.com/flashsale/loadtest/stats"
)

// A Run is what go test printed of benchmarks.
type Run struct {
	Config     map[string]string // what they ran on
	text       []byte
	benchmarks []string             // in order
	figures    map[string][]float64 // of each repetition, by benchmark/unit
	malformed  error                // of the text
}

// Read reads the text of a run. A benchmark that failed is not an error.
func Read(file string) (*Run, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := &Run{Config: map[string]string{}, text: text, figures: map[string][]float64{}}
	reader := benchfmt.NewReader(bytes.NewReader(text), file)
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.Result:
			r.add(record)
		case *benchfmt.SyntaxError:
			r.malformed = record
		}
	}
	return r, reader.Err()
}

// procs is the number of processors at the end of a benchmark's name.
var procs = regexp.MustCompile(`-\d+$`)

func (r *Run) add(result *benchfmt.Result) {
	name := procs.ReplaceAllString(result.Name.String(), "")
	if !slices.Contains(r.benchmarks, name) {
		r.benchmarks = append(r.benchmarks, name)
	}
	for _, v := range result.Values {
		figure := name + "/" + v.Unit
		r.figures[figure] = append(r.figures[figure], v.Value)
	}
	for _, c := range result.Config {
		if r.Config[c.Key] == "" {
			r.Config[c.Key] = string(c.Value)
		}
	}
}

// Value returns the median of a figure, as of Claim/nginx/all-µs, or what the run has of the
// configuration with that name, or nil.
func (r *Run) Value(name string) any {
	if values := r.figures[name]; len(values) > 0 {
		return stats.Quantile(values, 0.5)
	}
	if text := r.Config[name]; text != "" {
		return text
	}
	return nil
}

// What go test prints of a package whose benchmarks all succeeded, and of others.
var (
	succeeded = regexp.MustCompile(`(?m)^ok `)
	failed    = regexp.MustCompile(`(?m)^FAIL|--- FAIL`)
)

// packages have benchmarks: this one, and the locks'.
const packages = 2

// whole returns an error if a benchmark failed, or if the run is not of all of them.
func (r *Run) whole() error {
	if failed.Match(r.text) || r.malformed != nil || len(succeeded.FindAll(r.text, -1)) < packages {
		return errors.Join(errors.New("a benchmark failed, or the run was interrupted"), r.malformed)
	}
	for _, h := range headlines {
		if !slices.Contains(r.benchmarks, path.Dir(h.figure)) {
			return errors.New("it is a part of a run, without " + h.figure)
		}
	}
	return nil
}
