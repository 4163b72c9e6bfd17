package faults

import (
	"fmt"

	"example.com/flashsale/loadtest/report"
)

// A finding is something that trials of a cell showed.
type finding struct {
	letter, name string
	in           func(Observation) (found bool, milliseconds float64)

	trials int     // that showed it
	most   float64 // milliseconds; 0 for what has no length
}

// possible are all findings, the worst first.
var possible = findings{
	{letter: "T", name: "two at once",
		in: func(v Observation) (bool, float64) { return v.Two > 0 && !v.Fenced, v.Two }},
	{letter: "F", name: "two at once, fenced",
		in: func(v Observation) (bool, float64) { return v.Two > 0 && v.Fenced, v.Two }},
	{letter: "G", name: "gave up",
		in: func(v Observation) (bool, float64) { return v.GaveUp != "", 0 }},
	{letter: "N", name: "held by nobody",
		in: func(v Observation) (bool, float64) { return v.Nobody > ms(tolerance), v.Nobody }},
	{letter: "L", name: "told of a loss that was none",
		in: func(v Observation) (bool, float64) { return v.FalseLoss, 0 }},
	{letter: "D", name: "another's lock released",
		in: func(v Observation) (bool, float64) { return v.Took, 0 }},
	{letter: "W", name: "wrong word",
		in: func(v Observation) (bool, float64) { return v.WrongWord != "", 0 }},
	{letter: "K", name: "key kept without a holder",
		in: func(v Observation) (bool, float64) { return v.Leak > 0, v.Leak }},
	{letter: "M", name: "misconduct",
		in: func(v Observation) (bool, float64) { return v.Misconduct != "", 0 }},
}

type findings []finding

// seen returns the findings of a cell.
func (c Cell) seen() (all findings) {
	for _, f := range possible {
		for _, v := range c.Trials {
			if found, length := f.in(v); found {
				f.trials++
				f.most = max(f.most, length)
			}
		}
		if f.trials > 0 {
			all = append(all, f)
		}
	}
	return all
}

// texts returns the findings in words, of so many trials.
func (f findings) texts(trials int) (texts []string) {
	for _, one := range f {
		text := fmt.Sprintf("%s %d of %d", one.name, one.trials, trials)
		if one.most > 0 {
			text += fmt.Sprintf(", %s ms", report.Number(one.most))
		}
		texts = append(texts, text)
	}
	return texts
}

// letters returns the findings as a few letters.
func (f findings) letters() (letters string) {
	for _, one := range f {
		letters += one.letter
	}
	return letters
}
