package bench

import (
	"math"
	"slices"
	"strconv"

	"example.com/flashsale/loadtest/stats"
)

// A Figure is one quantity with the values measured in each repetition.
type Figure struct {
	Name   string    `json:"name"` // what/where/how, as in claims/direct/grouped
	Unit   string    `json:"unit"`
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	Values []float64 `json:"values"`
}

// Figures is the list of all figures, in the order of their first value.
type Figures struct {
	all    []*Figure
	byName map[string]*Figure
}

// figuresByName returns the Figures of a report.
func figuresByName(all []*Figure) Figures {
	f := Figures{all: all, byName: map[string]*Figure{}}
	for _, fig := range all {
		f.byName[fig.Name] = fig
	}
	return f
}

// Add appends a value to the figure called name.
func (f *Figures) Add(name, unit string, value float64) {
	fig := f.byName[name]
	if fig == nil {
		if f.byName == nil {
			f.byName = map[string]*Figure{}
		}
		fig = &Figure{Name: name, Unit: unit}
		f.byName[name] = fig
		f.all = append(f.all, fig)
	}
	fig.Values = append(fig.Values, value)
	fig.Min, fig.Median, fig.Max = slices.Min(fig.Values), stats.Quantile(fig.Values, 0.5), slices.Max(fig.Values)
}

// Median returns the median of the named figure, or NaN if it was not measured.
func (f *Figures) Median(name string) float64 {
	if fig := f.byName[name]; fig != nil {
		return fig.Median
	}
	return math.NaN()
}

// Ratio returns the quotient of two medians.
func (f *Figures) Ratio(name, divisor string) float64 { return f.Median(name) / f.Median(divisor) }

// Best returns the highest median of the named figures, or NaN if none was
// measured.
func (f *Figures) Best(names ...string) float64 {
	best := math.NaN()
	for _, name := range names {
		if m := f.Median(name); !(m <= best) {
			best = m
		}
	}
	return best
}

const notMeasured = "–"

// formatNumber formats v with three significant digits, and from 100 on as a
// whole number with commas.
func formatNumber(v float64) string {
	switch {
	case math.IsNaN(v):
		return notMeasured
	case v < 100:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
