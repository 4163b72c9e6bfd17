package main

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A purchase is what a user may have once.
type purchase struct{ user, coupon int64 }

// A ledger is what the clients were told.
type ledger struct {
	mu       sync.Mutex
	acks     map[purchase]int64 // the orders that were accepted
	told     map[purchase]int64 // the orders that users were told they have
	fresh    []purchase         // told of an order that is not yet seen in the database
	unknown  map[purchase]bool
	verdicts map[string]int
	latency  []time.Duration
	last     time.Time     // of an answer that was one
	gap      time.Duration // the longest without any
}

func newLedger() ledger {
	return ledger{acks: map[purchase]int64{}, told: map[purchase]int64{}, unknown: map[purchase]bool{}, verdicts: map[string]int{}, last: time.Now()}
}

// note enters one answer, and reports the order that contradicts it, if one
// does: a second one for the same user, or another than was promised.
func (l *ledger) note(p purchase, a answer, took time.Duration) (contradicts int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	verdict := a.verdict()
	l.verdicts[verdict]++
	l.latency = append(l.latency, took)
	if verdict == "unknown" {
		l.unknown[p] = true
		return 0
	}
	l.gap, l.last = max(l.gap, time.Since(l.last)), time.Now()
	switch verdict {
	case "accepted":
		if had := l.acks[p]; had != 0 {
			return had
		}
		l.acks[p] = number(a.ID)
		return l.tell(p, number(a.ID))
	case "already_claimed":
		if a.Order != "" {
			return l.tell(p, number(a.Order))
		}
	}
	return 0
}

// tell notes that p's user was told of order, and returns the other order that
// it was told of before, if it was.
func (l *ledger) tell(p purchase, order int64) (contradicts int64) {
	switch had := l.told[p]; had {
	case order:
	case 0:
		l.told[p] = order
		l.fresh = append(l.fresh, p)
	default:
		return had
	}
	return 0
}

// toldOf is the order that the user of p was told of; zero for none.
func (l *ledger) toldOf(p purchase) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.told[p]
}

// take hands out the orders that users were told of and that are still to be checked.
func (l *ledger) take() map[int64]purchase {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make(map[int64]purchase, len(l.fresh))
	for _, p := range l.fresh {
		ids[l.told[p]] = p
	}
	l.fresh = nil
	return ids
}

// all hands out every order that a user was told of.
func (l *ledger) all() map[int64]purchase {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make(map[int64]purchase, len(l.told))
	for p, id := range l.told {
		ids[id] = p
	}
	return ids
}

// doubts are the purchases of which nobody knows whether they were made.
func (l *ledger) doubts() []purchase {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.unknown))
}

// giveBack undoes take.
func (l *ledger) giveBack(ids map[int64]purchase) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range ids {
		l.fresh = append(l.fresh, p)
	}
}
