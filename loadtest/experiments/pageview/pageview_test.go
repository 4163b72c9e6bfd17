package pageview

import (
	"testing"

	"example.com/flashsale/loadtest/rig"
)

func TestViewsAreJudgedByWhatWasCounted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		views Views
		want  bool
	}{
		"all counted": {Views{Trial: Trial{Expect: "hold"}, Counted: 666, Answered: 666, OnA: 333, OnB: 333},
			true},
		"one lost": {Views{Trial: Trial{Expect: "hold"}, Counted: 665, Answered: 666, OnA: 333, OnB: 333},
			false},
		"one refused": {Views{Trial: Trial{Expect: "hold"}, Counted: 665, Answered: 665, OnA: 333, OnB: 332},
			false},
		"one instance only": {Views{Trial: Trial{Expect: "hold"}, Counted: 666, Answered: 666, OnA: 666}, false},
		"control breaks": {Views{Trial: Trial{Expect: "break"}, Counted: 9, Answered: 666, OnA: 333, OnB: 333},
			true},
		"control loses nothing": {Views{Trial: Trial{Expect: "break"}, Counted: 666, Answered: 666, OnA: 333,
			OnB: 333}, false},
		"control answers none": {Views{Trial: Trial{Expect: "break"}, OnA: 333, OnB: 333}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.views.judge(); c.views.Pass != c.want {
				t.Errorf("pass = %v", c.views.Pass)
			}
		})
	}
}

func TestViewsAreReadFromResults(t *testing.T) {
	t.Parallel()
	var v Views
	err := v.add([]rig.Row{
		{"timeStamp": "2000", "elapsed": "100", "responseCode": "200", "wait": "40", "instance": "a"},
		{"timeStamp": "1900", "elapsed": "300", "responseCode": "200", "wait": "20", "instance": "b"},
		{"timeStamp": "1000", "elapsed": "9000", "responseCode": "503", "wait": "none", "instance": "b"},
		{"timeStamp": "2100", "elapsed": "300", "responseCode": "200", "wait": "30", "instance": "b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Views{Answered: 3, OnA: 1, OnB: 2, WaitP50: 30, WaitP99: 39.8, PerSecond: 6}
	if v != want {
		t.Errorf("%+v, want %+v", v, want)
	}
}
