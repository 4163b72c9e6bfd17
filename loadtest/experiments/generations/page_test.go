package generations

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/loadtest/verdict"
)

func TestMatrixHasARowForEachLockAndAColumnForEachDefect(t *testing.T) {
	t.Parallel()
	trial := func(name string, v verdict.Verdict) Trial { return Trial{Generation: name, Verdict: v} }
	matrix, verdicts := matrixOf([]Result{
		{Defect: "first", Breaks: []Trial{trial("old", verdict.Broke)}, Holds: []Trial{trial("new", verdict.Held)}},
		{Defect: "second", Holds: []Trial{trial("new", verdict.Wrong)}},
	})
	want := [][]string{{"", "1. first", "2. second"}, {"old", "broke", ""}, {"new", "held", "wrong"}}
	if diff := cmp.Diff(want, append([][]string{matrix.Header}, matrix.Rows...)); diff != "" {
		t.Error(diff)
	}
	if len(verdicts) != 3 || verdict.AllPass(verdicts) {
		t.Errorf("%v", verdicts)
	}
}
