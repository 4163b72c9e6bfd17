package soak

import (
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A claim names a user and a coupon, of which the user may have one order.
type claim struct{ user, coupon int64 }

// A history is what the clients were told.
type history struct {
	mu           sync.Mutex
	acknowledged map[claim]int64 // orders that were acknowledged with 201
	known        map[claim]int64 // orders that users were told of, with 201 or 409
	unchecked    []claim         // with a known order that was not yet looked up in the database
	unknown      map[claim]bool  // without a verdict
	verdicts     map[string]int
	latencies    []time.Duration
	last         time.Time     // of a verdict other than unknown
	longestGap   time.Duration // between two such verdicts
	gaps         []span        // between two such verdicts, of gapLimit or more
	begin        time.Time
	seconds      []second // since begin
}

// gapLimit is how long a time without a verdict is listed as a gap.
const gapLimit = 500 * time.Millisecond

// A second is how many replies arrived in one second.
type second struct{ accepted, refused, unknown int }

func newHistory() history {
	return history{
		acknowledged: map[claim]int64{}, known: map[claim]int64{}, unknown: map[claim]bool{},
		verdicts: map[string]int{}, last: time.Now(), begin: time.Now(),
	}
}

// add records one reply. It returns the order that the reply contradicts, or 0:
// the user has an order already, or was told of a different one.
func (h *history) add(c claim, r reply, latency time.Duration) (contradicted int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	verdict := r.verdict()
	h.verdicts[verdict]++
	h.latencies = append(h.latencies, latency)
	h.count(verdict)
	if verdict == unknown {
		h.unknown[c] = true
		return 0
	}
	h.endGap()
	switch verdict {
	case rig.Accepted:
		if order := h.acknowledged[c]; order != 0 {
			return order
		}
		h.acknowledged[c] = number(r.ID)
		return h.addOrder(c, number(r.ID))
	case "already_claimed":
		if r.Order != "" {
			return h.addOrder(c, number(r.Order))
		}
	}
	return 0
}

// count counts a reply in its second.
func (h *history) count(verdict string) {
	now := int(time.Since(h.begin).Seconds())
	for len(h.seconds) <= now {
		h.seconds = append(h.seconds, second{})
	}
	switch s := &h.seconds[now]; verdict {
	case rig.Accepted:
		s.accepted++
	case unknown:
		s.unknown++
	default:
		s.refused++
	}
}

// endGap ends the time without a verdict.
func (h *history) endGap() {
	now := time.Now()
	if gap := now.Sub(h.last); gap >= gapLimit {
		h.gaps = append(h.gaps, span{h.last, now})
	}
	h.longestGap, h.last = max(h.longestGap, now.Sub(h.last)), now
}

// addOrder records that c's user was told of order. It returns the different
// order that the user was told of before, or 0.
func (h *history) addOrder(c claim, order int64) (contradicted int64) {
	switch known := h.known[c]; known {
	case order:
		return 0
	case 0:
		h.known[c] = order
		h.unchecked = append(h.unchecked, c)
		return 0
	default:
		return known
	}
}

// order returns the order that c's user was told of, or 0.
func (h *history) order(c claim) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[c]
}

// takeUnchecked returns the known orders that are still to be looked up in the
// database, and forgets that they are.
func (h *history) takeUnchecked() map[int64]claim {
	h.mu.Lock()
	defer h.mu.Unlock()
	orders := make(map[int64]claim, len(h.unchecked))
	for _, c := range h.unchecked {
		orders[h.known[c]] = c
	}
	h.unchecked = nil
	return orders
}

// putBack undoes takeUnchecked.
func (h *history) putBack(orders map[int64]claim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range orders {
		h.unchecked = append(h.unchecked, c)
	}
}

// orders returns all known orders.
func (h *history) orders() map[int64]claim {
	h.mu.Lock()
	defer h.mu.Unlock()
	orders := make(map[int64]claim, len(h.known))
	for c, id := range h.known {
		orders[id] = c
	}
	return orders
}

// withoutVerdict returns the claims that had an unknown reply at least once.
func (h *history) withoutVerdict() []claim {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.unknown))
}
