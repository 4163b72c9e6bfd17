package linearizable

import (
	"slices"
	"sync"

	"example.com/flashsale/loadtest/rig"
)

// An operation is one request of a client and what it was told. Only a claim has all
// members of one; what an operation of another kind did is Accepted.
type operation struct {
	Kind kind
	rig.Claim
	Units     int    // of a restock
	Reference string // of a use, which no other has
}

// A kind is what an operation asks for.
type kind string

const (
	claim   kind = "claim"
	restock kind = "restock"
	giveUp  kind = "return"
	use     kind = "use"
)

// refusals are the verdicts on a claim after which it has no effect. One that is not known
// proves nothing.
var refusals = []string{"already_claimed", "sold_out", rig.Overloaded, "claim_in_progress", "limit_reached",
	"coupon_not_found", "not_started", "ended"}

// unknown reports whether the operation may have taken effect, or may yet.
func (o operation) unknown() bool {
	if o.Kind == claim {
		return o.Verdict != rig.Accepted && !slices.Contains(refusals, o.Verdict)
	}
	return o.Failed()
}

// may reports whether the operation took effect, for all that its client knows.
func (o operation) may() bool { return o.Verdict == rig.Accepted || o.unknown() }

// owner returns whose order the operation is about.
func (o operation) owner() owner { return owner{o.User, max(o.Number, 1)} }

// A history is the operations of all clients. It is safe for concurrent use.
type history struct {
	mu  sync.Mutex
	all []operation
}

func (h *history) add(o operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, o)
}

// of returns the operations on a coupon.
func (h *history) of(coupon int64) (found []operation) {
	for _, o := range h.all {
		if o.Coupon == coupon {
			found = append(found, o)
		}
	}
	return found
}

// count returns how many operations match.
func (h *history) count(matches func(operation) bool) (n int) {
	for _, o := range h.all {
		if matches(o) {
			n++
		}
	}
	return n
}
