package demo

import (
	"path/filepath"
	"slices"
	"testing"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/loadtest/rig"
)

// Without lock and guards a sale breaks, and as shipped it holds, from k6 to the table.
func TestDemoJudgesWhatK6Sends(t *testing.T) {
	labtest.NeedInterop(t)
	t.Chdir(filepath.Join("..", "..", ".."))
	rows := slices.DeleteFunc(slices.Clone(Experiments), func(e Experiment) bool {
		unguarded, shipped := slices.Equal(e.GuardsOff, []string{"stock", "unique"}),
			e.Commit == "grouped" && e.Segments == 0
		return !unguarded && !shipped
	})
	if len(rows) != 2 {
		t.Fatalf("%d rows, want the one without guards and the one as shipped", len(rows))
	}
	if err := prove(t.Context(), "demo-test", rig.K6, rows); err != nil {
		t.Error(err)
	}
}
