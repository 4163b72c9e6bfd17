package faults

import "fmt"

// toldWithin is how soon a holder that runs learns that the server has forgotten its
// lease: from its next extension.
const toldWithin = leaseTime/3 + tolerance

// breaches returns what v breaks of the contract of our locks.
func (t *trial) breaches(v Observation) (broken []string) {
	add := func(broke bool, format string, args ...any) {
		if broke {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	switch t.mayLose() {
	case keepsLock, expires:
		add(v.Writes > 0, "two at once for %.0f ms", v.Two)
		// Without a late write it is the word that a busy machine has delayed.
		if v.Told != nil {
			add(*v.Told > ms(tolerance), "told %.0f ms after the next had entered", *v.Told)
		}
	case forgotten:
		add(v.Two > ms(toldWithin), "two at once for %.0f ms", v.Two)
		add(v.Writes > 0 && t.fenced && !v.Fenced, "two at once, and the fence did not rise")
	case blind:
		add(v.Writes > maxLateWrites && !v.Fenced, "%d writes after the next had entered", v.Writes)
	}
	add(v.GaveUp != "", "gave up: %s", v.GaveUp)
	add(v.Nobody > ms(t.lease()/3+tolerance+t.returns), "held by nobody for %.1f s beyond the lease", v.Nobody/1000)
	add(v.FalseLoss, "told of a loss that was none")
	add(v.Took, "its release took the lock away from the next")
	add(v.WrongWord != "", "wrong word: %s", v.WrongWord)
	add(v.Leak > 0, "the key was locked for %.1f s though nobody held it", v.Leak/1000)
	add(v.Misconduct != "", "the holder: %s", v.Misconduct)
	return broken
}
