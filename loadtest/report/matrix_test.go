package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMatrixHasEachCellInItsRowAndColumn(t *testing.T) {
	t.Parallel()
	m := Matrix("", []Cell{{"old", "first", "broke"}, {"new", "first", "held"}, {"new", "second", "wrong"}})
	want := [][]string{{"", "first", "second"}, {"old", "broke", ""}, {"new", "held", "wrong"}}
	if diff := cmp.Diff(want, append([][]string{m.Header}, m.Rows...)); diff != "" || !m.Matrix {
		t.Error(diff)
	}
}
