package pageview

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

func TestViewsAreJudgedByWhatWasCounted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		views Views
		want  verdict.Verdict
	}{
		"all counted": {Views{Trial: Trial{Expect: "hold"}, Counted: 666, Answered: 666, OnA: 333, OnB: 333,
			InFlight: 16}, verdict.Held},
		"one after the other": {Views{Trial: Trial{Expect: "hold"}, Counted: 666, Answered: 666, OnA: 333, OnB: 333,
			InFlight: 2}, verdict.Void},
		"one lost": {Views{Trial: Trial{Expect: "hold"}, Counted: 665, Answered: 666, OnA: 333, OnB: 333},
			verdict.Wrong},
		"one refused": {Views{Trial: Trial{Expect: "hold"}, Counted: 665, Answered: 665, OnA: 333, OnB: 332},
			verdict.Wrong},
		"one instance only": {Views{Trial: Trial{Expect: "hold"}, Counted: 666, Answered: 666, OnA: 666},
			verdict.Void},
		"control breaks": {Views{Trial: Trial{Expect: "break"}, Counted: 9, Answered: 666, OnA: 333, OnB: 333},
			verdict.Broke},
		"control loses nothing": {Views{Trial: Trial{Expect: "break"}, Counted: 666, Answered: 666, OnA: 333,
			OnB: 333, InFlight: 16}, verdict.Lucky},
		"control answers none": {Views{Trial: Trial{Expect: "break"}, OnA: 333, OnB: 333}, verdict.Void},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.views.judge(); c.views.Verdict != c.want {
				t.Errorf("%s, want %s", c.views.Verdict, c.want)
			}
		})
	}
}

// If the view of the holder that was stopped is counted like all others, it had not
// begun when the others came.
func TestPauseIsJudgedByWhatWasOverwritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		expect  string
		counted int64
		want    verdict.Verdict
	}{
		"refused":                   {"hold", 4, verdict.Held},
		"overwrites":                {"break", 2, verdict.Broke},
		"overwrites beside a fence": {"hold", 2, verdict.Wrong},
		"refused without a fence":   {"break", 4, verdict.Lucky},
		"counted after the others":  {"break", 5, verdict.Void},
	} {
		p := Pauses{Expect: c.expect, Others: 3, Counted: c.counted}
		if p.judge(3); p.Verdict != c.want {
			t.Errorf("%s: %s, want %s", name, p.Verdict, c.want)
		}
	}
}

func TestViewsAreReadFromResults(t *testing.T) {
	t.Parallel()
	sample := func(sent, received int64, instance string, values map[string]string) rig.Sample {
		c := rig.Claim{Sent: time.UnixMilli(sent), Received: time.UnixMilli(received), Instance: instance}
		return rig.Sample{Claim: c, Values: values}
	}
	replies, err := repliesOf([]rig.Sample{
		sample(2000, 2100, "a", map[string]string{"responseCode": "200", "wait": "40", "count": "1"}),
		sample(1900, 2200, "b", map[string]string{"responseCode": "200", "wait": "20", "count": "1"}),
		sample(1000, 10000, "b", map[string]string{"responseCode": "503", "wait": "none"}),
		sample(2100, 2400, "b", map[string]string{"wait": "30", "count": "2"}),
	})
	check.NoError(t, err)
	var v Views
	v.add(replies)
	want := Views{Answered: 3, InFlight: 2, OnA: 1, OnB: 2, Across: 1, WaitP50: 30, WaitP99: 39.8, PerSecond: 6}
	if diff := cmp.Diff(want, v, cmpopts.IgnoreUnexported(Views{})); diff != "" {
		t.Error(diff)
	}
}

func TestDuplicatesAreCountedWithinAnInstanceAndAcross(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b []int64
		want [3]int64
	}{
		"none":   {[]int64{1, 3}, []int64{2, 4}, [3]int64{}},
		"within": {[]int64{1, 1, 1}, []int64{2, 2}, [3]int64{2, 1, 0}},
		"across": {[]int64{1, 2, 3}, []int64{2, 3, 4}, [3]int64{0, 0, 2}},
		"both":   {[]int64{1, 1}, []int64{1, 2, 2}, [3]int64{1, 1, 1}},
	} {
		var replies []reply
		for _, n := range c.a {
			replies = append(replies, reply{Claim: rig.Claim{Instance: "a"}, count: n})
		}
		for _, n := range c.b {
			replies = append(replies, reply{Claim: rig.Claim{Instance: "b"}, count: n})
		}
		var v Views
		if v.add(replies); [3]int64{v.WithinA, v.WithinB, v.Across} != c.want {
			t.Errorf("%s: %d within a, %d within b, %d across; want %v", name, v.WithinA, v.WithinB, v.Across, c.want)
		}
	}
}
