package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// crowd is a burst of w in which everybody overlaps and both instances answer.
func crowd(w Workload, accepted int) Burst {
	b := newBurst()
	start := time.Unix(1000, 0)
	for i := range w.Requests() {
		b.Spans = append(b.Spans, Span{Sent: start, Answered: start.Add(time.Duration(i+1) * time.Millisecond)})
		b.Instances[[]string{"a", "b"}[i%2]]++
	}
	b.Verdicts["accepted"], b.Verdicts["sold_out"] = accepted, w.Requests()-accepted
	b.Acked = make([]string, accepted)
	return b
}

// asShipped is the run that everybody hopes for.
func asShipped() Result {
	return Result{
		Experiment: Experiment{Workload: sevenEach, Lock: "redis", Scope: "user", Commit: "each"},
		Audit:      Audit{Orders: 50, DistinctUsers: 50}, Burst: crowd(sevenEach, 50),
	}
}

func control() Result {
	r := asShipped()
	r.Off, r.Breaks = []string{"stock"}, []Promise{Stock}
	r.Audit = Audit{Orders: 60, DistinctUsers: 60, Oversold: 10}
	return r
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result Result
		spoil  func(*Result)
		want   string // of the only fault; empty for none
	}{
		"as shipped":              {asShipped(), func(*Result) {}, ""},
		"control that breaks":     {control(), func(*Result) {}, ""},
		"control that holds":      {control(), func(r *Result) { r.Audit = Audit{Orders: 50, DistinctUsers: 50} }, "I1 stock had to break and did not"},
		"control breaking more":   {control(), func(r *Result) { r.Duplicates = 2 }, "I2 one each had to hold: 2 duplicates"},
		"oversold":                {asShipped(), func(r *Result) { r.Oversold = 1 }, "I1 stock had to hold: 1 oversold"},
		"duplicate":               {asShipped(), func(r *Result) { r.Duplicates = 1 }, "I2 one each had to hold: 1 duplicates"},
		"undersold":               {asShipped(), func(r *Result) { r.Undersold = 1 }, "I3 all sold had to hold: 1 unsold"},
		"acknowledged, not there": {asShipped(), func(r *Result) { r.AckedMissing = 1 }, "I3 all sold had to hold: 1 acked missing"},
		"stock that vanished":     {asShipped(), func(r *Result) { r.Adrift = 1 }, "I3 all sold had to hold: 1 coupons adrift"},
		"claims never sent":       {asShipped(), func(r *Result) { r.Spans = r.Spans[:690] }, "690 of 700 claims were sent"},
		"one instance idle":       {asShipped(), func(r *Result) { r.Instances = map[string]int{"a": 700} }, "instance b answered no claim"},
		"one after the other":     {asShipped(), oneByOne, "only 1 claims were ever in flight at once"},
		"errors as shipped":       {asShipped(), func(r *Result) { r.Verdicts["unexpected"] = 3 }, "3 answers were neither 201 nor 409"},
		"errors of a control":     {control(), func(r *Result) { r.Verdicts["unexpected"] = 3 }, ""},
		"not run":                 {asShipped(), func(r *Result) { r.Failure = errors.New("no k6") }, "did not go to its end: no k6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.spoil(&c.result)
			faults := c.result.Faults()
			switch {
			case c.want == "" && len(faults) > 0:
				t.Errorf("faults %q, want none", faults)
			case c.want != "" && (len(faults) != 1 || !strings.Contains(faults[0], c.want)):
				t.Errorf("faults %q, want %q", faults, c.want)
			}
			if c.result.Pass() != (c.want == "") {
				t.Errorf("pass %v", c.result.Pass())
			}
		})
	}
}

func oneByOne(r *Result) {
	for i := range r.Spans {
		at := time.Unix(int64(i), 0)
		r.Spans[i] = Span{Sent: at, Answered: at.Add(time.Second)} // the next leaves as this one is answered
	}
}

func TestAuditCountsEachCouponForItself(t *testing.T) {
	t.Parallel()
	var a Audit
	a.add(sold{Initial: 10, Left: -2, Orders: 12, Users: 12}, 20) // oversold
	a.add(sold{Initial: 10, Left: 4, Orders: 6, Users: 5}, 20)    // a duplicate, and unsold
	a.add(sold{Initial: 10, Left: 7, Orders: 3, Users: 3}, 3)     // nobody else asked
	a.add(sold{Initial: 10, Left: 0, Orders: 9, Users: 9}, 9)     // stock that nobody got
	want := Audit{Orders: 30, DistinctUsers: 12, Oversold: 2, Duplicates: 1, Undersold: 4, Adrift: 1}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
}

func TestMissingCountsPromisesWithoutOrder(t *testing.T) {
	t.Parallel()
	if n := missing([]string{"1", "2", "2", "9"}, []string{"1", "2", "3"}); n != 2 {
		t.Errorf("missing %d, want 2: one acknowledged twice, one that is not there", n)
	}
}

func TestTableSaysWhyAndFits(t *testing.T) {
	t.Parallel()
	bad := control()
	bad.Audit, bad.Lesson = Audit{Orders: 50}, "What it teaches."
	out := table([]Result{asShipped(), bad})
	for _, want := range []string{"100 users × 7, stock 50", "redis per user", "held", "What it teaches.", "NO: I1 stock had to break and did not"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 140 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// The keys are a contract with whoever reads proof.json.
func TestProofHasExactlyItsKeys(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "proof.json")
	p := Proof{Runs: []Run{control().run()}}
	if err := p.write(file); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Machine, Run map[string]any }
	var top map[string]any
	var runs struct{ Runs []map[string]any }
	for _, into := range []any{&top, &got, &runs} {
		if err := json.Unmarshal(b, into); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		keys map[string]any
		want string
	}{
		{"proof", top, "commit time machine versions durability runs pass"},
		{"machine", got.Machine, "cpu cores mem"},
		{"run", runs.Runs[0], "name workload requests users stock lock scope commit guards expect accepted orders distinct_users" +
			" oversold duplicates undersold acked_missing max_in_flight instances p50_ms p99_ms pass"},
	} {
		want := strings.Fields(c.want)
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(c.keys))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	run := control().run()
	if run.Expect != "break" || !slices.Equal(run.Guards, []string{"unique"}) || run.Oversold != 10 || run.MaxInFlight != 700 || !run.Pass {
		t.Errorf("run = %+v", run)
	}
}

func TestRunsOfAProofHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range experiments {
		name := Result{Experiment: e}.name()
		if seen[name] {
			t.Errorf("two experiments are called %s", name)
		}
		seen[name] = true
	}
}
