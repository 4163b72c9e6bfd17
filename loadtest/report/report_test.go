package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

var everyChart = []Lanes{
	Claims([]rig.Claim{
		{Instance: "a", Verdict: rig.Accepted, Sent: time.UnixMilli(0), Received: time.UnixMilli(3)},
		{Instance: "b", Verdict: "sold_out", Sent: time.UnixMilli(1), Received: time.UnixMilli(4)},
		{Instance: "<c>", Verdict: rig.Unexpected, Sent: time.UnixMilli(1), Received: time.UnixMilli(1)},
		{Instance: "d", Verdict: "sold_out", Sent: time.UnixMilli(2), Received: time.UnixMilli(4)},
	}, 3),
	{Caption: "holders", Unit: "ms", Rows: []Lane{
		{"process 1", []Span{{"lock", Hold, 1, 5}, {"expired", Fault, 3, 3}}},
	}},
}

// The drawings are well-formed, and names are escaped.
func TestDrawingsAreWellFormed(t *testing.T) {
	t.Parallel()
	for _, c := range everyChart {
		drawing, numbers := c.draw().Drawing, c.draw().Numbers
		d := xml.NewDecoder(strings.NewReader(string(drawing)))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v in %s", c.Caption, err, drawing)
			}
		}
		if strings.Contains(string(drawing), "NaN") || strings.Contains(string(drawing), "Inf") {
			t.Errorf("%s: not a number in %s", c.Caption, drawing)
		}
		if len(numbers.Rows) == 0 {
			t.Errorf("%s: no numbers beside the drawing", c.Caption)
		}
		for _, row := range numbers.Rows {
			if len(row) != len(numbers.Header) {
				t.Errorf("%s: row %q under %q", c.Caption, row, numbers.Header)
			}
		}
	}
}

func TestReportPassesIfAllRowsDo(t *testing.T) {
	t.Parallel()
	none, held, lucky := Section{}, Section{}, Section{}
	held.Judge(verdict.Held)
	held.Judge(verdict.Broke)
	lucky.Judge(verdict.Lucky)
	if Pass() || Pass(none) || Pass(lucky, held) || Pass(held, lucky) || !Pass(none, held, none) {
		t.Error("nothing passes nothing, and luck does not")
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
