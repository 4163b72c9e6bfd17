package faults

import (
	"slices"
	"testing"
	"time"

	"example.com/flashsale/loadtest/holder"
)

// A script is what holders said, at tenths of a second.
type script struct {
	tenth int
	word  holder.Word
	fence uint64
}

func lines(s ...script) (all []holder.Line) {
	for _, l := range s {
		all = append(all, holder.Line{At: at(l.tenth), Word: l.word, Fence: l.fence})
	}
	return all
}

func at(tenth int) time.Duration { return time.Duration(tenth) * 100 * time.Millisecond }

// held returns the lines of a holder that holds from one tenth to another.
func held(from, to int, fence uint64, end ...script) []holder.Line {
	s := []script{{from, holder.Acquired, fence}}
	for i := from + 1; i <= to; i++ {
		s = append(s, script{i, holder.Write, fence})
	}
	return lines(append(s, end...)...)
}

// Each of these is what a lock must not do, told by two holders. Without the clause
// that finds it, the test fails.
func TestObservationFindsWhatMustNotBe(t *testing.T) {
	t.Parallel()
	brief := row{name: "brief"}
	long := row{name: "long", loses: expires}
	for name, test := range map[string]struct {
		row    row
		fenced bool
		seen   seen
		want   []string // findings
		breaks bool     // the contract, without a finding
	}{
		"clean": {row: brief, seen: seen{
			a: held(1, 10, 0, script{11, holder.Released, 0}), released: at(11),
			b: held(12, 20, 0, script{21, holder.Released, 0}), waited: at(5), freed: at(22),
		}},
		"both write": {row: long, seen: seen{
			a: held(1, 60, 0, script{61, holder.Lost, 0}), b: held(40, 80, 0), waited: at(5), freed: at(90),
		}, want: []string{"T"}},
		"both write, with fences": {row: long, fenced: true, seen: seen{
			a: held(1, 60, 1, script{61, holder.Lost, 0}), b: held(40, 80, 2), waited: at(5), freed: at(90),
		}, want: []string{"F"}},
		"a fence that falls does not help": {row: long, fenced: true, seen: seen{
			a: held(1, 60, 2, script{61, holder.Lost, 0}), b: held(40, 80, 1), waited: at(5), freed: at(90),
		}, want: []string{"T"}},
		"the first acquires late": {row: long, seen: seen{
			a: held(50, 60, 0), b: held(30, 80, 0), waited: at(5), freed: at(90),
		}, want: []string{"T"}},
		"an error ends the wait": {row: brief, seen: seen{
			a: held(1, 10, 0), b: lines(script{20, holder.Unknown, 0}), waited: at(5), freed: at(90),
		}, want: []string{"G"}},
		"nobody holds": {row: brief, seen: seen{
			a: held(1, 10, 0, script{11, holder.Released, 0}), released: at(11),
			b: held(40, 50, 0), waited: at(5), freed: at(60),
		}, want: []string{"N"}},
		"the second waits for what nobody holds, until its wait is over": {row: brief, seen: seen{
			a: held(1, 10, 0, script{11, holder.Released, 0}), released: at(11),
			b: lines(script{185, holder.Refused, 0}), waited: at(5), freed: at(186),
		}, want: []string{"N"}},
		"the second waits for what nobody holds, and never answers": {row: brief, seen: seen{
			a: held(1, 10, 0, script{12, holder.Unknown, 0}), released: at(11), waited: at(5), freed: at(240),
		}, want: []string{"N"}},
		"released what it had said to have lost": {row: long, seen: seen{
			a:        held(1, 30, 0, script{31, holder.Lost, 0}, script{60, holder.Released, 0}),
			released: at(59), b: held(40, 70, 0), waited: at(5), freed: at(90),
		}},
		"a loss that was none, told at the release": {row: brief, seen: seen{
			a: held(1, 10, 0, script{12, holder.Lost, 0}), released: at(11),
			b: held(13, 20, 0), waited: at(5), freed: at(60),
		}, want: []string{"L", "W"}},
		"told a second late, without a late write": {row: long, seen: seen{
			a: held(1, 30, 0, script{50, holder.Lost, 0}), b: held(40, 80, 0), waited: at(5), freed: at(90),
		}, breaks: true},
		"released what another holds": {row: long, seen: seen{
			a: held(1, 30, 0, script{60, holder.Released, 0}), released: at(59),
			b: held(40, 70, 0), waited: at(5), freed: at(90),
		}, want: []string{"W"}},
		"its release takes the lock of another": {row: long, seen: seen{
			a: held(1, 30, 0, script{31, holder.Lost, 0}, script{60, holder.Released, 0}), released: at(59),
			b: held(40, 62, 0, script{63, holder.Lost, 0}), waited: at(5), freed: at(90),
		}, want: []string{"D"}},
		"of a thousand waiters one gets nothing": {row: row{name: "waiters", waiters: 1000}, seen: seen{
			a: held(1, 10, 0, script{11, holder.Released, 0}), released: at(11),
			b:      held(12, 20, 0),
			others: holder.Line{Word: holder.Unknown}, waited: at(5), freed: at(60),
		}, want: []string{"G"}},
		"both write in turn, long": {row: row{name: "random", turns: true, loses: blind}, seen: seen{
			a: slices.Concat(held(1, 10, 0), held(30, 40, 0)), b: held(20, 35, 0), freed: at(90),
		}, want: []string{"T"}},
		"the key stays": {row: brief, seen: seen{
			a: held(1, 10, 0, script{11, holder.Released, 0}), released: at(11),
			b: held(12, 20, 0, script{21, holder.Released, 0}), waited: at(5), freed: at(22), leak: 2 * time.Second,
		}, want: []string{"K"}},
		"misconduct": {row: brief, seen: seen{
			a: held(1, 10, 0, script{11, holder.Released, 0}), released: at(11),
			b: held(12, 20, 0), waited: at(5), freed: at(22),
			misconduct: errOf("half a line"),
		}, want: []string{"M"}},
	} {
		c := column{backend: noServer, kind: ours, fenced: test.fenced}
		tr := &trial{site: &site{column: c}, row: test.row, seen: test.seen}
		v := tr.observe()
		var got []string
		for _, f := range (Cell{Trials: []Observation{v}}).seen() {
			got = append(got, f.letter)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v (%+v)", name, got, test.want, v)
		}
		if broken := tr.breaches(v); (len(broken) > 0) != (test.breaks || len(test.want) > 0) {
			t.Errorf("%s: breaches %q", name, broken)
		}
	}
}

type errOf string

func (e errOf) Error() string { return string(e) }

func TestMisconductIsFound(t *testing.T) {
	t.Parallel()
	released := script{11, holder.Released, 0}
	for name, test := range map[string]struct {
		lines []holder.Line
		want  int
	}{
		"none":                    {held(1, 10, 0, released), 0},
		"no write for too long":   {held(1, 10, 0, script{20, holder.Write, 0}), 1},
		"a write after a release": {held(1, 10, 0, released, script{12, holder.Write, 0}), 1},
	} {
		if got := misconduct(test.lines); len(got) != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
