package bench

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
	if r := ratio(x, y)(f); r != 0.5 {
		t.Errorf("ratio %v, want 0.5", r)
	}
	if best := highest(x, unknown, y)(f); best != 8 {
		t.Errorf("best %v, want 8", best)
	}
	if !math.IsNaN(highest(unknown)(f)) || !math.IsNaN(ratio(x, unknown)(f)) {
		t.Error("a figure that was not measured: got a number, want NaN")
	}
}

func TestTargetsEncodeTheKindOfTheirLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		target Target
		want   string
	}{
		{newTarget("a", 2, 1, atLeast), `{"at_least":1,"met":true,"name":"a","value":2}`},
		{newTarget("a", 2, 1, atMost), `{"at_most":1,"met":false,"name":"a","value":2}`},
		{newTarget("a", math.NaN(), 1, atLeast), `{"at_least":1,"met":false,"name":"a","value":null}`},
		{newTarget("a", math.NaN(), 1, atMost),
			`{"at_most":1,"met":false,"name":"a","value":null}`},
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
