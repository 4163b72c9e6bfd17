package soak

import (
	"testing"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// seconds returns the span from begin to end, in seconds of one history.
func seconds(begin, end float64) trial.Span {
	at := func(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second))) }
	return trial.Span{Begin: at(begin), End: at(end)}
}

// wait returns a claim that was sent at begin and answered at end.
func wait(begin, end float64, client string) rig.Claim {
	s := seconds(begin, end)
	return rig.Claim{Sent: s.Begin, Received: s.End, Instance: client}
}

// Instance a is suspended from 10 to 16.
var suspendedA = []outage{{What: "a suspended", strike: seconds(10, 16)}}

func TestLateReplyIsFound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wait rig.Claim
		late bool
	}{
		"in time":                                {wait(1, 4.9, "b"), false},
		"late":                                   {wait(1, 5.1, "b"), true},
		"late while the other is suspended":      {wait(10, 14.5, "b"), true},
		"from a suspended instance":              {wait(9.5, 16.5, "a"), false},
		"long after the instance was resumed":    {wait(15, 20.5, "a"), true},
		"through nginx to a suspended instance":  {wait(9.5, 16.5, "nginx"), false},
		"through nginx, and long after a resume": {wait(9.5, 20, "nginx"), true},
		"through nginx, late":                    {wait(1, 5.1, "nginx"), true},
	} {
		if d := waited(test.wait, suspendedA); (d > 4*time.Second) != test.late {
			t.Errorf("%s: a wait of %s counts as %s", name, test.wait.Received.Sub(test.wait.Sent), d)
		}
	}
}

func TestLongestWaitOfAFaultIncludesAllThatTouchIt(t *testing.T) {
	t.Parallel()
	waits := []rig.Claim{
		wait(0, 9, "b"), // before
		wait(8, 11, "b"),
		wait(9, 18, "a"), // 3 s without the pause
		wait(15, 16.5, "b"),
		wait(30, 40, "b"), // after
	}
	for during, want := range map[trial.Span]time.Duration{
		seconds(10, 16): 3 * time.Second, seconds(16.2, 17): 3 * time.Second, seconds(20, 25): 0,
		seconds(35, 36): 10 * time.Second,
	} {
		if _, got := longestWait(waits, suspendedA, during); got != want {
			t.Errorf("%v: %v, want %v", during, got, want)
		}
	}
}
