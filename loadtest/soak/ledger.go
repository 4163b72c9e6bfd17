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
	acks     map[purchase]int64 // order ids
	fresh    []purchase         // acknowledged, and not yet seen in the database
	unknown  map[purchase]bool
	verdicts map[string]int
	latency  []time.Duration
	last     time.Time     // of an answer that was one
	gap      time.Duration // the longest without any
}

func newLedger() ledger {
	return ledger{acks: map[purchase]int64{}, unknown: map[purchase]bool{}, verdicts: map[string]int{}, last: time.Now()}
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
	had, acked := l.acks[p]
	switch verdict {
	case "accepted":
		l.acks[p] = number(a.ID)
		l.fresh = append(l.fresh, p)
		return had
	case "already_claimed":
		if acked && a.Order != "" && number(a.Order) != had {
			return had
		}
	}
	return 0
}

// acked is the order that p was promised; zero for none.
func (l *ledger) acked(p purchase) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acks[p]
}

// take hands out the acknowledgements that are still to be checked.
func (l *ledger) take() map[int64]purchase {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make(map[int64]purchase, len(l.fresh))
	for _, p := range l.fresh {
		ids[l.acks[p]] = p
	}
	l.fresh = nil
	return ids
}

// all hands out every acknowledgement.
func (l *ledger) all() map[int64]purchase {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make(map[int64]purchase, len(l.acks))
	for p, id := range l.acks {
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
