package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
)

// readmes quote figures of docs/benchmarks.json.
var readmes = []string{"README.md", "README.zh-CN.md"}

// quotation is a number in a README after a comment with the name of its figure
// or target, as in <!-- claims/direct/grouped -->19,216.
var quotation = regexp.MustCompile(`<!-- ([^>]+) -->[0-9.,]*[0-9]`)

// quote returns text with each quotation replaced by the value in benchJSON. It
// returns an error if benchJSON lacks one.
func quote(text string, benchJSON []byte) (string, error) {
	var r Report
	if err := json.Unmarshal(benchJSON, &r); err != nil {
		return "", err
	}
	var err error
	text = quotation.ReplaceAllStringFunc(text, func(q string) string {
		name := quotation.FindStringSubmatch(q)[1]
		value := r.value(name)
		if math.IsNaN(value) {
			err = fmt.Errorf("docs/benchmarks.json has no figure and no target %q", name)
		}
		return "<!-- " + name + " -->" + formatNumber(value)
	})
	return text, err
}

// value returns the median of a figure, or the value of a target, or NaN.
func (r Report) value(name string) float64 {
	for _, t := range r.Targets {
		if t.Name == name {
			return t.Value
		}
	}
	figures := figuresByName(r.Figures)
	return figures.Median(name)
}

// writeReadmes replaces the quotations in the READMEs.
func writeReadmes(benchJSON []byte) error {
	for _, path := range readmes {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		quoted, err := quote(string(text), benchJSON)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.WriteFile(path, []byte(quoted), 0o644); err != nil {
			return err
		}
	}
	return nil
}
