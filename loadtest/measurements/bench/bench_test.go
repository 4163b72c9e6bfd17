package bench

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

func TestFiguresHaveMedianAndSpread(t *testing.T) {
	t.Parallel()
	var f Figures
	x, y, unknown := figure{"x", "1/s"}, figure{"y", "1/s"}, figure{"unknown", "1/s"}
	for _, v := range []float64{5, 1, 9, 3} {
		f.add(measured{x, v})
	}
	f.add(measured{y, 8})
	if x := f[0]; x.Median != 4 || x.Min != 1 || x.Max != 9 {
		t.Errorf("got %+v, want median 4, min 1, max 9", x)
	}
	if r := ratio(x, y)(f); !slices.Equal(r, samples{5.0 / 8}) {
		t.Errorf("ratio %v, want that of the repetition that both have", r)
	}
	best := highest(samples{3, math.NaN(), math.NaN()}, nil, samples{4, 1, math.NaN()})
	if best[0] != 4 || best[1] != 1 || !math.IsNaN(best[2]) {
		t.Errorf("best %v, want 4, 1, NaN", best)
	}
	if len(ratio(x, unknown)(f)) > 0 {
		t.Error("a figure that was not measured has a ratio")
	}
}

// A machine that is slow in one repetition is slow for both figures of a ratio.
func TestRatiosAreTakenWithinARepetition(t *testing.T) {
	t.Parallel()
	var f Figures
	x, y := figure{"x", "1/s"}, figure{"y", "1/s"}
	for _, slow := range []float64{1, 3, 2} {
		f.add(measured{x, 100 / slow}, measured{y, 50 / slow})
	}
	if got := times(x, y)(f); got != "2 (2–2)" {
		t.Error(got)
	}
}

func TestTargetsSayYesOnlyIfAllRepetitionsAgree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values samples
		kind   limitKind
		want   string
	}{
		{samples{3, 2, 4}, atLeast, met}, {samples{1, 1.9}, atLeast, missed}, {samples{1.9, 4, 4}, atLeast, undecided},
		{samples{1, 2}, atMost, met}, {samples{3, 4}, atMost, missed}, {samples{1, 1, 9}, atMost, undecided},
		{samples{4, math.NaN(), 4}, atLeast, void}, {nil, atLeast, notMeasured},
	} {
		if got := newTarget("a", c.values, 2, c.kind); got.Verdict != c.want || got.Met != (c.want == met) {
			t.Errorf("%v: %s, met %v; want %s", c.values, got.Verdict, got.Met, c.want)
		}
	}
}

// What was made of an offer is void if the offer was not sent, or if it is more than
// can be: the peak was then measured in a bad moment.
func TestOverloadIsVoidIfItWasNotSentOrCannotBe(t *testing.T) {
	t.Parallel()
	to := oneInstance.under(double)
	for _, c := range []struct {
		sent, ofPeak float64
		void         bool
	}{{2000, 0.9, false}, {1100, 0.9, true}, {2000, 1.89, true}} {
		var f Figures
		f.add(measured{to.due(), 2000}, measured{to.sent(), c.sent}, measured{to.madeOfPeak(), c.ofPeak},
			measured{to.madeMax(), 7})
		if got := to.valid(offerFigures.madeOfPeak)(f); got.void() != c.void {
			t.Errorf("%v sent, %v made: %v", c.sent, c.ofPeak, got)
		}
		if got := to.ofPeak(f); (got == void) != c.void {
			t.Errorf("%v sent, %v made: the table says %s", c.sent, c.ofPeak, got)
		}
		if got := overloaded(offerFigures.madeMax)(f); got.void() != c.void {
			t.Errorf("%v sent, %v made: slowest %v", c.sent, c.ofPeak, got)
		}
	}
}

// At four times a peak of 10,000, an nginx that needs 10 µs for a refusal leaves 0.6 / 0.9 of
// the peak; at four times 30,000, nothing. No more can be made than is left.
func TestOverloadIsJudgedByWhatRefusalsLeave(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ peak, ofPeak, want float64 }{
		{10_000, 0.5, 0.75}, {10_000, 0.9, math.NaN()}, {30_000, 0.5, math.NaN()},
	} {
		to := oneInstance.under(fourfold)
		var f Figures
		f.add(measured{to.due(), 4 * c.peak}, measured{to.sent(), 4 * c.peak}, measured{to.madeOfPeak(), c.ofPeak},
			measured{oneInstance.peak(), c.peak}, measured{refusal, 10})
		got := oneInstance.ofCore(fourfold)(f)
		if len(got) != 1 || got.void() != math.IsNaN(c.want) || math.Abs(got[0]-c.want) > 1e-9 {
			t.Errorf("%v of a peak of %v: %v, want %v", c.ofPeak, c.peak, got, c.want)
		}
		if text := oneInstance.ofCoreCell(fourfold)(f); (text == void) != math.IsNaN(c.want) {
			t.Errorf("%v of a peak of %v: the table says %s", c.ofPeak, c.peak, text)
		}
	}
}

// Ctrl-C before the first section measured nothing, and nothing is not a success.
func TestInterruptedRunFails(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if failures := new(bench).runSections(ctx); len(failures) == 0 {
		t.Error("an interrupted run has no failure")
	}
}

func TestTargetsEncodeTheKindOfTheirLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		target Target
		want   string
	}{
		{newTarget("a", samples{2, 3, 5}, 1, atLeast),
			`{"at_least":1,"met":true,"name":"a","value":3,"low":2,"high":5,"verdict":"met"}`},
		{newTarget("a", samples{2}, 1, atMost),
			`{"at_most":1,"met":false,"name":"a","value":2,"low":2,"high":2,"verdict":"missed"}`},
		{newTarget("a", nil, 1, atLeast), `{"at_least":1,"met":false,"name":"a","value":null,"verdict":"not measured"}`},
		{newTarget("a", samples{math.NaN()}, 1, atMost),
			`{"at_most":1,"met":false,"name":"a","value":null,"verdict":"void"}`},
	} {
		if got, err := json.Marshal(test.target); err != nil || string(got) != test.want {
			t.Errorf("got %s, %v; want %s", got, err, test.want)
		}
	}
}

// A stall of 200 ms must show in the latencies of all claims that were due
// during it, not only of those that the server had already received.
func TestOpenLoadCountsTheWaitOfLateClaims(t *testing.T) {
	t.Parallel()
	const rate, stall = 1000, 200 * time.Millisecond
	h := rig.Headers{Path: filepath.Join(t.TempDir(), "headers"), Count: rate, Width: 10}
	if err := os.WriteFile(h.Path, []byte(strings.Repeat("X-A: bcd\r\n", rate)), 0o600); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if elapsed := time.Since(start); elapsed > 300*time.Millisecond && elapsed < 300*time.Millisecond+stall {
			time.Sleep(300*time.Millisecond + stall - elapsed)
		}
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(server.Close)
	results, err := clients.Load{
		Address: strings.TrimPrefix(server.URL, "http://"), Coupons: []int64{1}, Headers: h, Connect: 2,
		Phases: []generator.Phase{{Rate: rate, Count: rate}},
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := results[0].Replies(rig.Accepted); n != rate {
		t.Errorf("%d claims accepted, want %d", n, rate)
	}
	slow := 0
	for _, l := range results[0].Times(clients.Claim.Latency) {
		if l > stall/4 {
			slow++
		}
	}
	if want := int(rate * stall.Seconds() / 2); slow < want {
		t.Errorf("%d claims were slow, want at least %d", slow, want)
	}
}

func TestServiceIsNormalAfterEnoughQuickClaims(t *testing.T) {
	t.Parallel()
	var claims []clients.Claim
	for i := range 100 {
		c := clients.Claim{Sent: time.Duration(i) * 10 * time.Millisecond, Verdict: rig.Accepted}
		c.Received = c.Sent + time.Millisecond
		if i < 30 { // still overloaded
			c.Received = c.Sent + time.Second
		}
		claims = append(claims, c)
	}
	if got, want := toNormal(claims, 2*time.Second), 491*time.Millisecond; got != want {
		t.Errorf("normal after %s, want %s", got, want)
	}
	if got := toNormal(claims[:30], time.Second); got != time.Second {
		t.Errorf("never normal: %s, want all of the phase", got)
	}
}

func TestUnknownSectionIsRefused(t *testing.T) {
	t.Parallel()
	for setting, valid := range map[string]bool{
		"": true, "claims": true, "claims,growth": true, "typo": false, "claims,": false,
	} {
		if err := checkSections(setting); valid != (err == nil) {
			t.Errorf("SECTIONS=%s: %v", setting, err)
		}
	}
}

// A strategy that is not measured would be missing from every table.
func TestEveryStrategyIsMeasured(t *testing.T) {
	t.Parallel()
	var names []string
	for _, v := range strategies {
		names = append(names, v.name)
	}
	slices.Sort(names)
	if want := slices.Sorted(slices.Values(rig.Commits)); !slices.Equal(names, want) {
		t.Errorf("%v are measured, want %v", names, want)
	}
}

// What an instance made of a load that was not sent is no figure.
func TestFigureOfAnUnsentLoadIsNotQuoted(t *testing.T) {
	t.Parallel()
	var all Figures
	for o, sent := range map[offer]float64{fourfold: 100, double: 390} {
		f := oneInstance.under(o)
		all.add(measured{f.due(), 400}, measured{f.sent(), sent}, measured{f.madeOfPeak(), 0.9},
			measured{f.madeMax(), 50})
	}
	r := Report{Figures: all}
	if v := r.value("overload/direct 4x made max"); !math.IsNaN(v) {
		t.Errorf("a quarter was sent, and the slowest success is quoted: %v", v)
	}
	if v := r.value("overload/direct 2x made max"); v != 50 {
		t.Errorf("all was sent, and the slowest success is %v", v)
	}
}
