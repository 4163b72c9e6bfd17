package faults

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"example.com/flashsale/loadtest/holder"
)

// An Observation is what one trial showed. Durations are in milliseconds.
type Observation struct {
	// Two is for how long both holders wrote: both believed that they held.
	Two    float64 `json:"two_ms"`
	Writes int     `json:"late_writes"` // the most of an earlier holder, after the later had entered
	Fenced bool    `json:"fenced"`      // a resource that has seen the larger fence refuses all of those writes
	// Told is how long after the second had entered the first was told of its loss;
	// negative before that. It is absent if it was not told.
	Told *float64 `json:"told_ms,omitempty"`
	// GaveUp says that a holder ended its wait before the time, without the lock.
	GaveUp string `json:"gave_up,omitempty"`
	// Nobody is how long beyond the lease nobody held while the second waited, whether
	// or not it entered.
	Nobody    float64 `json:"held_by_nobody_ms"`
	FalseLoss bool    `json:"false_loss"`
	// Took says that the release of the first took the lock away from the second.
	Took       bool    `json:"released_anothers"`
	WrongWord  string  `json:"wrong_word,omitempty"`
	Leak       float64 `json:"leak_ms"` // how long the key was locked when nobody held it
	Misconduct string  `json:"misconduct,omitempty"`
	// Seed repeats the faults of a trial with faults at random.
	Seed uint64 `json:"seed,omitempty"`
}

const (
	// tolerance is how late a process may run on a busy machine.
	tolerance = 500 * time.Millisecond
	// maxLateWrites is what a holder may write that was stopped between the look at
	// its clock and the write.
	maxLateWrites = 1
)

// observe returns what the trial showed.
func (t *trial) observe() Observation {
	s := t.seen
	v := Observation{Misconduct: reason(s.misconduct)}
	a, b, stale := holder.Holds(s.a), holder.Holds(s.b), holder.Stale(s.a, s.b)
	for _, first := range a {
		for _, second := range b {
			v.overlap(first, second, stale)
			v.overlap(second, first, stale)
		}
	}
	if s.leak > tolerance || s.leaks {
		v.Leak = ms(s.leak)
	}
	if t.row.turns {
		v.Seed = t.seed
		return v
	}
	entered := len(b) > 0 && b[0].From < s.freed
	if len(a) > 0 && entered && a[0].Told != 0 {
		v.Told = new(ms(a[0].Told - b[0].From))
	}
	v.GaveUp = cmp.Or(gaveUp("the first", s.a, s.begun, firstWait), gaveUp("the second", s.b, s.waited, t.wait()),
		t.waiterGaveUp(entered))
	v.FalseLoss = len(a) > 0 && a[0].Told != 0 && t.mayLose() == keepsLock
	v.WrongWord = t.wrongWord(a, b)
	v.Took = entered && b[0].From < s.released && t.tookAway()
	switch {
	case entered:
		v.between(t, a, b[0].From)
	case v.GaveUp == "": // it waited for the whole time
		v.between(t, a, s.freed)
	}
	return v
}

// overlap adds that first wrote after second had entered, and whether these writes were
// refused.
func (v *Observation) overlap(first, second holder.Hold, stale map[holder.Line]bool) {
	if first.From > second.From || first.To <= second.From {
		return
	}
	v.Fenced = v.Fenced || v.Two == 0
	v.Two = max(v.Two, ms(min(first.To, second.To)-second.From))
	late := 0
	for _, w := range first.Writes {
		if w.At <= second.From {
			continue
		}
		v.Fenced = v.Fenced && stale[w]
		if w.At <= second.To {
			late++
		}
	}
	v.Writes = max(v.Writes, late)
}

// between adds how long nobody held until the second's wait was over.
func (v *Observation) between(t *trial, a []holder.Hold, until time.Duration) {
	s := t.seen
	free, lease := s.waited, t.lease() // nobody held; an abandoned request may have left a lease
	if len(a) > 0 {
		free = max(free, a[0].To)
	}
	if _, ok := find(s.a, s.released, holder.Released); ok && 0 < s.released && s.released < until {
		free, lease = s.released, 0
	}
	free = max(free, s.healed)
	v.Nobody = max(0, ms(until-free-lease))
}

// waiterGaveUp returns what the second holder said if it had many waiters, and not each of
// them got the lock.
func (t *trial) waiterGaveUp(entered bool) string {
	if t.row.waiters == 0 || !entered || t.seen.others.Word == holder.Released {
		return ""
	}
	others := t.seen.others
	return strings.TrimSpace(fmt.Sprintf("of %d waiters: %s %s", t.row.waiters, others.Word, others.Text))
}

// gaveUp returns what a holder said that waited from begun on and neither acquired
// nor waited for the whole time.
func gaveUp(who string, lines []holder.Line, begun, wait time.Duration) string {
	for _, l := range lines {
		switch l.Word {
		case holder.Acquired:
			return ""
		case holder.Refused, holder.Unknown:
			if l.At < begun+wait-tolerance {
				return fmt.Sprintf("%s after %.1f s: %s %s", who, (l.At - begun).Seconds(), l.Word, l.Text)
			}
			return ""
		}
	}
	return ""
}

// wrongWord returns what the first holder said of its release that was not so. A
// release after a loss that it was told of says nothing new.
func (t *trial) wrongWord(a, b []holder.Hold) string {
	s := t.seen
	if s.released == 0 || len(a) == 0 {
		return ""
	}
	entered := len(b) > 0 && b[0].From < s.released
	knew := a[0].Told != 0 && a[0].Told < s.released
	if _, ok := find(s.a, s.released, holder.Released); ok && entered && !knew {
		return "released, though another held"
	}
	if l, ok := find(s.a, s.released, holder.Lost); ok && !entered && t.mayLose() == keepsLock {
		return strings.TrimSpace("lost, though it held: " + l.Text)
	}
	return ""
}

// tookAway says that the second holder, which nothing else struck, was told of a loss after
// the first had been told to release.
func (t *trial) tookAway() bool {
	_, lost := find(t.seen.b, t.seen.released, holder.Lost)
	return lost && t.mayLose() != forgotten && !(t.backend.elects && t.row.elects)
}

// mayLose returns why the first holder may lose its lock. A lock that is bound to a
// connection or a session ends with it. One over five servers may have been granted by
// a bare majority, if the others replied too late; two that forget then lose it.
func (t *trial) mayLose() loss {
	if t.bound && t.row.breaks {
		return forgotten
	}
	if t.backend.elects && t.row.elects && t.row.loses == keepsLock {
		return expires
	}
	return t.row.loses
}

// find returns the first line with word at or after from.
func find(lines []holder.Line, from time.Duration, word holder.Word) (holder.Line, bool) {
	for _, l := range lines {
		if l.Word == word && l.At >= from {
			return l, true
		}
	}
	return holder.Line{}, false
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func reason(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}
