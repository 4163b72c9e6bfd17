// Package verdict says what a row of an experiment has shown, in the same words in
// every table, page and JSON file.
package verdict

import (
	"fmt"
	"os"
	"slices"
)

// A Verdict is what a row has shown. A row has to keep its promises, or is a
// control, which lacks what keeps one and has to break it. The value is what JSON
// files and style sheets have; String is for readers.
type Verdict string

// The verdicts, those that need a look first.
const (
	Wrong Verdict = "wrong" // harm was done where none may be
	Void  Verdict = "void"  // it proves nothing: its load was not sent, or no two claims met
	Lucky Verdict = "lucky" // a control whose claims met, and no harm was done: to be repeated
	Broke Verdict = "broke" // a control in which harm was done
	Held  Verdict = "held"  // claims met, and no harm was done
)

var all = []Verdict{Wrong, Void, Lucky, Broke, Held}

// Of returns the verdict on a row. A control has to break. met says that claims
// were in the way of each other: what never met cannot show that something holds.
func Of(control, harmed, met bool) Verdict {
	switch {
	case harmed && control:
		return Broke
	case harmed:
		return Wrong
	case !met:
		return Void
	case control:
		return Lucky
	}
	return Held
}

// Pass reports whether the row came out as it must.
func (v Verdict) Pass() bool { return v == Held || v == Broke }

// words are the verdicts for readers.
var words = map[Verdict]string{
	Wrong: "NO", Void: "void", Lucky: "lucky: repeat", Broke: "broke, as it must", Held: "held",
}

func (v Verdict) String() string { return words[v] }

// Named returns the verdict that text says, in words or as its value, or false if
// it says none.
func Named(text string) (Verdict, bool) {
	i := slices.IndexFunc(all, func(v Verdict) bool { return v.String() == text || string(v) == text })
	if i < 0 {
		return "", false
	}
	return all[i], true
}

// A Count is how many rows have a verdict.
type Count struct {
	Verdict Verdict
	N       int
	of      int
}

// Tally counts verdicts, in the order of the constants.
func Tally(verdicts []Verdict) (counts []Count) {
	for _, v := range all {
		c := Count{Verdict: v, of: len(verdicts)}
		for _, one := range verdicts {
			if one == v {
				c.N++
			}
		}
		if c.N > 0 {
			counts = append(counts, c)
		}
	}
	return counts
}

// String is the verdict, with the number of rows unless there is only one.
func (c Count) String() string {
	if c.of == 1 {
		return c.Verdict.String()
	}
	return fmt.Sprintf("%d %s", c.N, c.Verdict)
}

// attempts bounds Repeat. That claims meet is likely, not certain.
const attempts = 5

// Repeat runs a row, and runs it again while it is void or lucky, five times at most.
// The verdicts of the last run count.
func Repeat(run func() (Verdict, error)) error {
	for n := 1; ; n++ {
		v, err := run()
		if err != nil || n == attempts || v != Void && v != Lucky {
			return err
		}
		fmt.Fprintf(os.Stderr, "         %s: again\n", v)
	}
}
