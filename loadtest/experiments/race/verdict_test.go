package race

import (
	"testing"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// A control that did no harm is never green: it was lucky if claims met, and proves
// nothing if none did.
func TestPromisesAreJudgedByWhatMustHold(t *testing.T) {
	t.Parallel()
	const held, broke, lucky, wrong, void = verdict.Held, verdict.Broke, verdict.Lucky, verdict.Wrong, verdict.Void
	w := Workload{Users: 20, ClaimsPerUser: 10, PerUser: 1, Stock: 15, Segments: 1}
	met := Counts{Totals: rig.Totals{Orders: 15}, InitialStock: 15, Accepted: 15, Overlaps: 3}
	duplicates, oversold := met, met
	duplicates.Duplicates, oversold.Oversold = 4, 2
	for _, c := range []struct {
		lock, scope string
		guards      []string
		counts      Counts
		want        [2]verdict.Verdict // stock, one each
	}{
		{"none", "user", nil, met, [2]verdict.Verdict{lucky, lucky}},
		{"none", "user", nil, duplicates, [2]verdict.Verdict{lucky, broke}},
		{"none", "user", nil, Counts{Totals: rig.Totals{Orders: 3}, InitialStock: 15}, [2]verdict.Verdict{void, void}},
		{"local", "user", []string{"stock"}, met, [2]verdict.Verdict{held, lucky}},
		{"redis", "user", []string{"stock"}, met, [2]verdict.Verdict{held, held}},
		{"redis", "user", []string{"stock"}, duplicates, [2]verdict.Verdict{held, wrong}},
		{"redis", "user", nil, oversold, [2]verdict.Verdict{broke, held}},
		{"redis", "coupon", nil, oversold, [2]verdict.Verdict{wrong, held}},
		{"redis", "segment", nil, met, [2]verdict.Verdict{held, lucky}},
		{"none", "user", []string{"stock", "unique"}, met, [2]verdict.Verdict{held, held}},
	} {
		got := promises(Side{Settings: side(c.lock, c.scope, c.guards...)}, w, c.counts)
		if got[0].Verdict != c.want[0] || got[1].Verdict != c.want[1] {
			t.Errorf("%+v: %+v, want %s", c, got, c.want)
		}
	}
}
