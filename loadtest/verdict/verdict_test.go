package verdict

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// A control without harm is never green, and what never met proves nothing.
func TestVerdictNeedsHarmOrAMeeting(t *testing.T) {
	t.Parallel()
	const control, harmed, met = true, true, true
	for _, c := range []struct {
		control, harmed, met bool
		want                 Verdict
		pass                 bool
	}{
		{!control, !harmed, met, Held, true},
		{!control, !harmed, !met, Void, false},
		{!control, harmed, met, Wrong, false},
		{!control, harmed, !met, Wrong, false},
		{control, harmed, met, Broke, true},
		{control, harmed, !met, Broke, true},
		{control, !harmed, met, Lucky, false},
		{control, !harmed, !met, Void, false},
	} {
		if got := Of(c.control, c.harmed, c.met); got != c.want || got.Pass() != c.pass {
			t.Errorf("control %v, harmed %v, met %v: %s, want %s", c.control, c.harmed, c.met, got, c.want)
		}
	}
}

func TestVerdictIsFoundByItsWords(t *testing.T) {
	t.Parallel()
	for _, want := range all {
		if got, found := Named(fmt.Sprint(want)); !found || got != want {
			t.Errorf("%s: %q, %v", want, got, found)
		}
	}
	for _, text := range []string{"", "held by a"} {
		if got, found := Named(text); found {
			t.Errorf("%q is %q", text, got)
		}
	}
}

func TestTallyBeginsWithWhatIsWrong(t *testing.T) {
	t.Parallel()
	got := fmt.Sprint(Tally([]Verdict{Held, Broke, Held, Wrong}))
	if want := "[1 NO 1 broke, as it must 2 held]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := fmt.Sprint(Tally([]Verdict{Lucky})); got != "[lucky: repeat]" {
		t.Error(got)
	}
}

// JSON has the one word, which does not change with the words for readers.
func TestVerdictIsOneWordInJSON(t *testing.T) {
	t.Parallel()
	if b, err := json.Marshal(Broke); err != nil || string(b) != `"broke"` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestRowThatProvesNothingIsRepeated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		verdicts []Verdict
		want     int
	}{
		"held": {[]Verdict{Held}, 1}, "broke": {[]Verdict{Broke}, 1}, "wrong": {[]Verdict{Wrong}, 1},
		"void, lucky, then held": {[]Verdict{Void, Lucky, Held}, 3},
		"always void":            {slices.Repeat([]Verdict{Void}, 9), 5},
	} {
		n := 0
		err := Repeat(func() (Verdict, error) { n++; return test.verdicts[n-1], nil })
		if err != nil || n != test.want {
			t.Errorf("%s: run %d times, want %d; %v", name, n, test.want, err)
		}
	}
}
