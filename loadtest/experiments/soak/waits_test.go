package soak

import (
	"testing"
	"time"
)

// seconds returns the span from begin to end, in seconds of one history.
func seconds(begin, end float64) span {
	at := func(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second))) }
	return span{at(begin), at(end)}
}

// Instance a is suspended from 10 to 16.
var pausesOfA = []pause{{seconds(10, 16), "a"}}

func TestLateReplyIsFound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wait wait
		late bool
	}{
		"in time":                                {wait{span: seconds(1, 4.9), instance: "b"}, false},
		"late":                                   {wait{span: seconds(1, 5.1), instance: "b"}, true},
		"late while the other is suspended":      {wait{span: seconds(10, 14.5), instance: "b"}, true},
		"from a suspended instance":              {wait{span: seconds(9.5, 16.5), instance: "a"}, false},
		"long after the instance was resumed":    {wait{span: seconds(15, 20.5), instance: "a"}, true},
		"through nginx to a suspended instance":  {wait{span: seconds(9.5, 16.5)}, false},
		"through nginx, and long after a resume": {wait{span: seconds(9.5, 20)}, true},
		"through nginx, late":                    {wait{span: seconds(1, 5.1)}, true},
	} {
		if found := late([]wait{test.wait}, pausesOfA, 4*time.Second); (len(found) == 1) != test.late {
			t.Errorf("%s: a wait of %s counts as %s", name, test.wait.end.Sub(test.wait.begin),
				test.wait.counted(pausesOfA))
		}
	}
}

func TestLateRepliesAreSortedByTheTimeThatCounts(t *testing.T) {
	t.Parallel()
	waits := []wait{{span: seconds(1, 6), instance: "a"}, {span: seconds(8, 18), instance: "a"},
		{span: seconds(1, 8), instance: "b"}}
	found := late(waits, pausesOfA, 4*time.Second)
	if len(found) != 2 || found[0].instance != "b" || found[1].instance != "a" {
		t.Errorf("found %+v, want the one of b and then the first of a", found)
	}
}

func TestLongestWaitOfAFaultIncludesAllThatTouchIt(t *testing.T) {
	t.Parallel()
	waits := []wait{
		{span: seconds(0, 9), instance: "b"}, // before
		{span: seconds(8, 11), instance: "b"},
		{span: seconds(9, 18), instance: "a"}, // 3 s without the pause
		{span: seconds(15, 16.5), instance: "b"},
		{span: seconds(30, 40), instance: "b"}, // after
	}
	for during, want := range map[span]time.Duration{
		seconds(10, 16): 3 * time.Second, seconds(16.2, 17): 3 * time.Second, seconds(20, 25): 0,
		seconds(35, 36): 10 * time.Second,
	} {
		if got := longest(waits, pausesOfA, during); got != want {
			t.Errorf("%v: %v, want %v", during, got, want)
		}
	}
}

func TestShortWaitsAreNotKept(t *testing.T) {
	t.Parallel()
	var w waits
	w.add(wait{span: seconds(0, 0.01)})
	w.add(wait{span: seconds(0, 1)})
	if len(w.list) != 1 {
		t.Errorf("%d waits are kept, want 1", len(w.list))
	}
}
