package demo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// overlapping returns a burst of w in which all claims overlap and both instances
// reply.
func overlapping(w rig.Workload, accepted int) rig.Burst {
	var b rig.Burst
	start := time.Unix(1000, 0)
	for i := range w.Requests() {
		received := start.Add(time.Duration(i+1) * time.Millisecond)
		verdict := "sold_out"
		if i < accepted {
			verdict = rig.Accepted
		}
		b.Claims = append(b.Claims,
			rig.Claim{Sent: start, Received: received, Verdict: verdict, Instance: []string{"a", "b"}[i%2]})
	}
	return b
}

// asShipped returns a result in which all promises held.
func asShipped() *Result {
	return &Result{
		Experiment: Experiment{Workload: rig.SevenEach, Lock: "redis", Scope: "user", Commit: "each"},
		Totals:     rig.Totals{Orders: 50, DistinctUsers: 50}, Burst: overlapping(rig.SevenEach, 50),
	}
}

func control() *Result {
	r := asShipped()
	r.GuardsOff, r.Breaks = []string{"stock"}, []Promise{Stock}
	r.Totals = rig.Totals{Orders: 60, DistinctUsers: 60, Oversold: 10}
	return r
}

// setVerdicts gives the last n claims another verdict.
func setVerdicts(r *Result, n int, verdict string) {
	for i := range n {
		r.Claims[len(r.Claims)-1-i].Verdict = verdict
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	none := func(*Result) {}
	for name, c := range map[string]struct {
		result *Result
		spoil  func(*Result)
		want   verdict.Verdict
		reason string // the only one
	}{
		"as shipped":          {asShipped(), none, verdict.Held, ""},
		"control that breaks": {control(), none, verdict.Broke, ""},
		"control that holds":  {control(), holds, verdict.Lucky, "I1 stock had to break and did not"},
		"control whose claims did not meet": {control(), func(r *Result) { holds(r); oneByOne(r) }, verdict.Void,
			"only 1 claims were in flight"},
		"control breaking one of two": {control(), func(r *Result) { r.Breaks = []Promise{Stock, OneEach} },
			verdict.Lucky, "I2 one each had to break and did not"},
		"control that breaks under little load": {control(), oneByOne, verdict.Broke, ""},
		"control breaking more": {control(), func(r *Result) { r.Duplicates = 2 }, verdict.Wrong,
			"I2 one each had to hold: 2 duplicates"},
		"oversold": {asShipped(), func(r *Result) { r.Oversold = 1 }, verdict.Wrong,
			"I1 stock had to hold: 1 oversold"},
		"surplus": {asShipped(), func(r *Result) { r.Surplus = 1 }, verdict.Wrong,
			"I1 stock had to hold: 1 surplus"},
		"duplicate": {asShipped(), func(r *Result) { r.Duplicates = 1 }, verdict.Wrong,
			"I2 one each had to hold: 1 duplicates"},
		"unsold": {asShipped(), func(r *Result) { r.Unsold = 1 }, verdict.Wrong,
			"I3 all sold had to hold: 1 unsold"},
		"undersold": {asShipped(), func(r *Result) { r.Undersold = 1 }, verdict.Wrong,
			"I3 all sold had to hold: 1 undersold"},
		"acknowledged, not there": {asShipped(), func(r *Result) { r.AckedMissing = 1 }, verdict.Wrong,
			"I3 all sold had to hold: 1 acked missing"},
		"sums do not add up": {asShipped(), func(r *Result) { r.Unbalanced = 1 }, verdict.Wrong,
			"I3 all sold had to hold: 1 unbalanced"},
		"claims never sent": {asShipped(), func(r *Result) { r.Claims = r.Claims[:690] }, verdict.Void,
			"690 of 700 claims were sent"},
		"one instance idle":          {asShipped(), oneInstance, verdict.Void, "instance b replied to no claim"},
		"one after the other":        {asShipped(), oneByOne, verdict.Void, "only 1 claims were in flight"},
		"together when all was sold": {asShipped(), soldBefore, verdict.Void, "only 1 claims were in flight"},
		"errors as shipped": {asShipped(), func(r *Result) { setVerdicts(r, 3, rig.Unexpected) }, verdict.Wrong,
			"3 replies were neither 201 nor 409"},
		"errors of a control": {control(), func(r *Result) { setVerdicts(r, 3, rig.Unexpected) }, verdict.Broke, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.spoil(c.result)
			if got := c.result.Verdict(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			reasons := c.result.Reasons()
			if c.reason == "" && len(reasons) > 0 ||
				c.reason != "" && (len(reasons) != 1 || !strings.Contains(reasons[0], c.reason)) {
				t.Errorf("reasons %q, want %q", reasons, c.reason)
			}
		})
	}
}

func holds(r *Result) { r.Totals = rig.Totals{Orders: 50, DistinctUsers: 50} }

// soldBefore sends the claims that get an order one by one, and the others together
// when all is sold.
func soldBefore(r *Result) {
	oneByOne(r)
	sold := r.Claims[49].Received
	for i := 50; i < len(r.Claims); i++ {
		r.Claims[i].Sent, r.Claims[i].Received = sold, sold.Add(time.Second)
	}
}

func oneInstance(r *Result) {
	for i := range r.Claims {
		r.Claims[i].Instance = "a"
	}
}

// oneByOne sends each claim when the previous one is answered.
func oneByOne(r *Result) {
	for i := range r.Claims {
		sent := time.Unix(int64(i), 0)
		r.Claims[i].Sent, r.Claims[i].Received = sent, sent.Add(time.Second)
	}
}

func TestTableGivesReasons(t *testing.T) {
	t.Parallel()
	bad := control()
	bad.Totals = rig.Totals{Orders: 50}
	var text strings.Builder
	Table([]*Result{asShipped(), bad}).Write(&text, 80)
	out := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{"lock guards off orders verdict", "held", "lucky: repeat: I1 stock had to break and did not"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
}

func TestRecordSaysWhatARunHasShown(t *testing.T) {
	t.Parallel()
	run := control().record()
	if run.Expect != "break" || !slices.Equal(run.Guards, []string{"unique", "number", "end"}) || run.Oversold != 10 ||
		run.MaxInFlight != 700 || run.Verdict != verdict.Broke || !run.Pass {
		t.Errorf("run = %+v", run)
	}
}

func TestRunsOfAProofHaveUniqueNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range Experiments {
		name := (&Result{Experiment: e}).name()
		if seen[name] {
			t.Errorf("two experiments are called %s", name)
		}
		seen[name] = true
	}
}
