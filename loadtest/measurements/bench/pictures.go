package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"example.com/flashsale/loadtest/report"
)

// A picture is a chart of docs/benchmarks.json that the READMEs show.
type picture struct {
	file          string // below docs/pictures, before the scheme
	caption, unit string
	bars          []pictureBar
}

// A pictureBar is one figure. Other figures are what the project's are compared
// with.
type pictureBar struct {
	figure figure
	name   string
	other  bool
}

var pictures = []picture{
	{"strategies", "Claims accepted by commit strategy, one instance", "claims/s", []pictureBar{
		{direct(byHand).figure, "the articles’ flow by hand", true},
		{direct(optimistic).figure, "COMMIT=optimistic", false},
		{direct(pessimistic).figure, "COMMIT=pessimistic", false},
		{direct(each).figure, "COMMIT=each", false},
		{direct(grouped).figure, "COMMIT=grouped, as shipped", false},
	}},
	{"hand-overs", "Hand-overs of one lock that 16 waiters in each of 4 processes want", "hand-overs/s", []pictureBar{
		{handOvers(redsync).figure, "redsync", true},
		{handOvers(bsm).figure, "bsm/redislock", true},
		{handOvers(rueidis).figure, "rueidislock", true},
		{handOvers(own).figure, "redislock, not batched", false},
		{handOvers(batched).figure, "redislock, as the service uses it", false},
	}},
}

// chart returns p as a chart of figures. It returns an error if one is missing.
func (p picture) chart(figures Figures) (report.Bars, error) {
	chart := report.Bars{Caption: p.caption, Unit: p.unit}
	for _, b := range p.bars {
		f := figures.byName[b.figure.name]
		if f == nil {
			return report.Bars{}, fmt.Errorf("docs/benchmarks.json has no figure %q", b.figure.name)
		}
		chart.Bars = append(chart.Bars,
			report.Bar{Name: b.name, Value: f.Median, Low: f.Min, High: f.Max, Other: b.other})
	}
	return chart, nil
}

// draw returns the files below docs/pictures that are charts of benchJSON.
func draw(benchJSON []byte) (map[string]string, error) {
	var r Report
	if err := json.Unmarshal(benchJSON, &r); err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, p := range pictures {
		chart, err := p.chart(figuresByName(r.Figures))
		if err != nil {
			return nil, err
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
	benchJSON, err := os.ReadFile(filepath.Join("docs", "benchmarks.json"))
	if err != nil {
		return err
	}
	files, err := draw(benchJSON)
	if err != nil {
		return err
	}
	dir := filepath.Join("docs", "pictures")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
