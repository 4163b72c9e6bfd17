package holder

import (
	"cmp"
	"slices"
	"time"
)

// A Hold is the time for which a holder believes that it holds.
type Hold struct {
	From, To time.Duration // To is its last write
	Writes   []Line
	Told     time.Duration // of its loss; 0 if it was not
}

// Holds returns the holds in what a holder said.
func Holds(lines []Line) (all []Hold) {
	for _, l := range lines {
		last := len(all) - 1
		switch {
		case l.Word == Acquired:
			all = append(all, Hold{From: l.At, To: l.At})
		case last < 0:
		case l.Word == Write:
			all[last].To, all[last].Writes = l.At, append(all[last].Writes, l)
		case l.Word == Lost && all[last].Told == 0:
			all[last].Told = l.At
		}
	}
	return all
}

// Stale returns the lines with a smaller fence than a holder has said before. If they are
// writes, a resource that checks fences refuses them. A holder writes at once when it has
// acquired.
func Stale(holders ...[]Line) map[Line]bool {
	stale, highest := map[Line]bool{}, uint64(0)
	inTime := slices.SortedStableFunc(slices.Values(slices.Concat(holders...)),
		func(l, m Line) int { return cmp.Compare(l.At, m.At) })
	for _, l := range inTime {
		stale[l] = 0 < l.Fence && l.Fence < highest
		highest = max(highest, l.Fence)
	}
	return stale
}
