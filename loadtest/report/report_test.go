package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// written writes a report in a directory of its own and returns its text.
func written(t *testing.T, sections ...Section) string {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := Write("x",
		Report{Title: "A <title> & more", Summary: "A summary.", Pass: true, Sections: sections}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("out/x/report.html")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var everyChart = []Chart{
	Bars{"rates", "1/s", []Bar{{"a & b", 10, 8, 12, false}, {"c", 5, 5, 5, true}}},
	Curves{Caption: "growth", XName: "orders", YName: "1/s", LogX: true, Series: []Series{
		{"grouped", []Point{{10, 4}, {100, math.NaN()}, {1000, 7}}},
		Quantiles("waits", []time.Duration{time.Second, time.Millisecond}),
	}, Marks: []Span{{"a fault", Fault, 20, 30}}},
	Claims{"burst", []Claim{{"a", "accepted", 0, 3}, {"b", "sold_out", 1, 4}, {"<c>", "unexpected", 1, 1}}},
	Lanes{"holders", "ms", []Lane{{"process 1", []Span{{"lock", Hold, 1, 5}, {"expired", Fault, 3, 3}}}}},
}

// The drawings are well-formed, and names are escaped.
func TestDrawingsAreWellFormed(t *testing.T) {
	t.Parallel()
	for _, c := range everyChart {
		drawing, numbers := c.svg()
		d := xml.NewDecoder(strings.NewReader(string(drawing)))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v in %s", c.caption(), err, drawing)
			}
		}
		if strings.Contains(string(drawing), "NaN") || strings.Contains(string(drawing), "Inf") {
			t.Errorf("%s: not a number in %s", c.caption(), drawing)
		}
		if len(numbers.Rows) == 0 {
			t.Errorf("%s: no numbers beside the drawing", c.caption())
		}
		for _, row := range numbers.Rows {
			if len(row) != len(numbers.Header) {
				t.Errorf("%s: row %q under %q", c.caption(), row, numbers.Header)
			}
		}
	}
}

// A report opens from disk, without a network.
func TestReportRefersToNothingOutside(t *testing.T) {
	text := written(t, Section{Title: "all", Verdict: rig.Verdict(false, false), Charts: everyChart})
	if found := regexp.MustCompile(`(?i)<script|https?:|url\(|@import|src=|<link`).FindString(text); found != "" {
		t.Errorf("the report has %q", found)
	}
	for _, want := range []string{"A &lt;title&gt; &amp; more", `class="failed"`, "a &amp; b", "&lt;c&gt;",
		"Measured on"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

func TestTicksAreRound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scale scale
		want  string
	}{
		{scale{low: 0, high: 10}, "0 2 4 6 8 10"},
		{scale{low: 0, high: 0.0009}, "0 0.0002 0.0004 0.0006 0.0008"},
		{scale{low: 64, high: 4096, log: true}, "100 1,000"},
		{scale{low: 5, high: 5}, "5"},
	} {
		var got []string
		for _, v := range c.scale.ticks() {
			got = append(got, Number(v))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %q, want %q", c.scale, got, c.want)
		}
	}
}

func TestNumbersHaveThreeDigitsOrCommas(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 0.12345: "0.123", 12.34: "12.3", 999.4: "999", 12345.6: "12,346",
		1234567: "1,234,567", -1500: "-1,500", 2540.5: "2,540", 100.4: "100", math.NaN(): "–"} {
		if got := Number(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
