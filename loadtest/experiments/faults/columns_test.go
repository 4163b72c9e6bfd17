package faults

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock/drivers"
)

func TestLockWhoseHolderIsNotBuiltIsNotTried(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "program")
	lock := column{name: "lock", backend: oneRedis, needs: file}
	if got := possibleOf([]column{lock}); len(got) > 0 {
		t.Errorf("tried without %s", file)
	}
	check.NoError(t, os.WriteFile(file, nil, 0o755))
	if got := possibleOf([]column{lock}); len(got) != 1 {
		t.Error("not tried though it is built")
	}
}

// A run without the holders of make holders is whole: docs/faults.md can be written.
func TestRunIsWholeWithoutLocksToBuild(t *testing.T) {
	t.Parallel()
	r := Report{Trials: fullTrials}
	for _, c := range columns {
		if !c.optional() {
			r.Cells = append(r.Cells, cellsOf(c)...)
		}
	}
	if !r.whole() {
		t.Error("not whole without the locks to build")
	}
	// As many cells as before, but of a lock that has to be built.
	r.Cells = append(r.Cells[len(rows):], cellsOf(column{name: "redis-py"})...)
	if r.whole() {
		t.Error("whole without " + columns[0].name)
	}
}

func cellsOf(c column) (cells []Cell) {
	for _, r := range rows {
		cells = append(cells, Cell{Lock: c.name, Fault: r.name})
	}
	return cells
}

func TestCellsOfTheProtocolsPageExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/locks.md")
	check.NoError(t, err)
	cells := regexp.MustCompile(`CELL=(\S+)`).FindAllSubmatch(page, -1)
	if len(cells) == 0 {
		t.Error("the page names no cell")
	}
	for _, cell := range cells {
		_, fault, _ := strings.Cut(string(cell[1]), "/")
		if _, err := named(rows, func(r row) string { return r.name }, fault); err != nil {
			t.Error(err)
		}
	}
}

// Every driver whose lock excludes other processes is tried.
func TestEveryDriverHasAColumn(t *testing.T) {
	t.Parallel()
	for _, name := range drivers.Remote {
		tries := func(c column) bool { return c.holder == name }
		if !slices.ContainsFunc(columns, tries) {
			t.Errorf("no column tries %s", name)
		}
	}
}
