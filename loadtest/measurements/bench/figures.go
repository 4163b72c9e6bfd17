package bench

import (
	"fmt"
	"math"
	"slices"

	"example.com/flashsale/loadtest/stats"
)

// A figure is one quantity that the benchmarks measure. The figures are declared
// beside their measurements, and measurements, tables, limits and charts refer to
// the declarations: a figure that is misspelt does not compile.
type figure struct{ name, unit string } // the name is what/where/how, as in claims/direct/grouped

// with returns another quantity of the same measurement.
func (f figure) with(quantity, unit string) figure { return figure{f.name + " " + quantity, unit} }

// A rate is requests per second, with what else was seen of them.
type rate struct{ figure }

func rateOf(format string, args ...any) rate {
	return rate{figure{fmt.Sprintf(format, args...), "1/s"}}
}

func (r rate) p99() figure        { return r.with("p99", "ms") }
func (r rate) cpu() figure        { return r.with("CPU", "µs") } // of the service, per request
func (r rate) machineCPU() figure { return r.with("CPU of all processes", "µs") }
func (r rate) refused() figure    { return r.with("refused", "%") }
func (r rate) memory() figure     { return r.with("memory", "MB") } // of the service

// A Figure is one figure with the values measured in each repetition.
type Figure struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	Values []float64 `json:"values"`
}

// Figures are the figures of a run, in the order of their first value.
type Figures []*Figure

// find returns the figure with that name, or nil.
func (f Figures) find(name string) *Figure {
	if i := slices.IndexFunc(f, func(fig *Figure) bool { return fig.Name == name }); i >= 0 {
		return f[i]
	}
	return nil
}

// add appends measured values to their figures.
func (f *Figures) add(values ...measured) {
	for _, v := range values {
		fig := f.find(v.name)
		if fig == nil {
			fig = &Figure{Name: v.name, Unit: v.unit}
			*f = append(*f, fig)
		}
		fig.Values = append(fig.Values, v.value)
		fig.Min, fig.Median, fig.Max = slices.Min(fig.Values), stats.Quantile(fig.Values, 0.5), slices.Max(fig.Values)
	}
}

// samples returns the values of a figure, which are none if it was not measured.
func (f Figures) samples(of figure) samples {
	if fig := f.find(of.name); fig != nil {
		return fig.Values
	}
	return nil
}

// median returns the median, or NaN if the figure was not measured.
func (f Figures) median(of figure) float64 { return f.named(of.name) }

// named returns the median of the figure with that name, or NaN.
func (f Figures) named(name string) float64 {
	if fig := f.find(name); fig != nil {
		return fig.Median
	}
	return math.NaN()
}
