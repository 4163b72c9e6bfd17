package bench

import (
	"fmt"
	"path/filepath"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// A bar is a figure in a chart. Other figures are what the project's are compared
// with.
type bar struct {
	name   string
	figure figure
	other  bool
}

// chart draws the bars that were measured.
func (f Figures) chart(caption, unit string, bars []bar) report.Bars {
	chart := report.Bars{Caption: caption, Unit: unit}
	for _, b := range bars {
		if fig := f.find(b.figure.name); fig != nil {
			chart.Bars = append(chart.Bars,
				report.Bar{Name: b.name, Value: fig.Median, Low: fig.Min, High: fig.Max, Other: b.other})
		}
	}
	return chart
}

// pictures are the charts of docs/benchmarks.json that the READMEs show.
var pictures = []struct {
	file          string // below docs/pictures, before the scheme
	caption, unit string
	bars          []bar
}{
	{"strategies", "Claims accepted by commit strategy, one instance", "claims/s", []bar{
		{"the articles’ flow by hand", oneInstanceRate(byHand).figure, true},
		{"COMMIT=optimistic", oneInstanceRate(optimistic).figure, false},
		{"COMMIT=pessimistic", oneInstanceRate(pessimistic).figure, false},
		{"COMMIT=each", oneInstanceRate(each).figure, false},
		{"COMMIT=grouped, as shipped", oneInstanceRate(grouped).figure, false},
	}},
	{"hand-overs", "Hand-overs of one lock that 16 waiters in each of 4 processes want", "hand-overs/s", []bar{
		{"redsync", handOvers(redsync).figure, true},
		{"bsm/redislock", handOvers(bsm).figure, true},
		{"rueidislock", handOvers(rueidis).figure, true},
		{"redislock, not batched", handOvers(own).figure, false},
		{"redislock, as the service uses it", handOvers(batched).figure, false},
	}},
}

// draw returns the files below docs/pictures that are charts of r. It returns an
// error if a figure is missing.
func (r Report) draw() (files map[string]string, err error) {
	files = map[string]string{}
	for _, p := range pictures {
		chart := r.Figures.chart(p.caption, p.unit, p.bars)
		if len(chart.Bars) < len(p.bars) {
			return nil, fmt.Errorf("docs/benchmarks.json lacks a figure of the picture %s", p.file)
		}
		for _, scheme := range []report.Scheme{report.Light, report.Dark} {
			if files[fmt.Sprintf("%s-%s.svg", p.file, scheme)], err = report.SVG(chart, scheme); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// WritePictures writes the charts of docs/benchmarks.json into docs/pictures.
func WritePictures() error {
	r, err := readPublished(".")
	if err != nil {
		return err
	}
	files, err := r.draw()
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := rig.WriteFile(filepath.Join("docs", "pictures", name), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}
