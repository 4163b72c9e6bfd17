package faults

import "testing"

// What one trial of five shows may be chance.
func TestCellWhoseTrialsDifferIsTriedMore(t *testing.T) {
	t.Parallel()
	clean, two := Observation{}, Observation{Two: 100}
	longRow := row{trials: 1}
	for name, test := range map[string]struct {
		trials int // of the run
		row    row
		seen   []Observation
		want   int
	}{
		"all the same":     {fullTrials, row{}, []Observation{two, two, two, two, two}, fullTrials},
		"one differs":      {fullTrials, row{}, []Observation{two, two, clean, two, two}, doubtfulTrials},
		"not all are done": {fullTrials, row{}, []Observation{two, clean}, fullTrials},
		"a quick run":      {1, row{}, []Observation{two}, 1},
		"a long row":       {fullTrials, longRow, []Observation{two}, 1},
	} {
		e := &experiment{trials: test.trials}
		if got := e.trialsOf(Cell{Trials: test.seen}, test.row); got != test.want {
			t.Errorf("%s: %d trials, want %d", name, got, test.want)
		}
	}
}

func TestRandomLastsAsLongAsItIsTold(t *testing.T) {
	t.Parallel()
	list, err := lasting("10m", rows)
	if err != nil || len(list) != 1 || !list[0].turns || list[0].lasts.Minutes() != 10 {
		t.Errorf("%+v, %v, want the row at random alone, of ten minutes", list, err)
	}
	if _, err := lasting("10m", rows[:1]); err == nil {
		t.Error("nothing is tried, and no error")
	}
	if _, err := lasting("long", rows); err == nil {
		t.Error("no time, and no error")
	}
}
