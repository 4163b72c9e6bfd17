// Package trial runs a sale whose parts fail. A trial has a site, the loads of its
// clients, a schedule of faults, and checks of what the clients were told. What they
// were told is its history, from which follows how long the sale was interrupted.
// An experiment is a list of trials, each a row of its table.
package trial

import (
	"slices"
	"sync"

	"example.com/flashsale/loadtest/rig"
)

// An Operation is one request of a client and what it was told. Only a claim has all
// members of one; what an operation of another kind did is Accepted.
type Operation struct {
	Kind Kind
	rig.Claim
	Units     int    // of a restock
	Reference string // of a use, which no other has
}

// A Kind is what an operation asks for.
type Kind string

// The kinds.
const (
	Claim   Kind = "claim"
	Restock Kind = "restock"
	Read    Kind = "read"
	Return  Kind = "return"
	Use     Kind = "use"
)

// A History is the operations of all clients of a sale, and the promises that they found
// broken. It is safe for concurrent use. The zero value is empty.
type History struct {
	Violations
	mu         sync.Mutex
	operations []Operation
	told       []rig.Claim          // the first claim of each owner that was told of an order
	final      []Operation          // the uses and the returns that were made
	made       map[rig.Claim]bool   // whether an owner who was told of an order was told that the claim made it
	last       map[rig.Claim]string // the order that an owner was told of last
}

// ownerOf returns the members of c that say who may have one order at a time.
func ownerOf(c rig.Claim) rig.Claim {
	return rig.Claim{User: c.User, Coupon: c.Coupon, Number: max(c.Number, 1)}
}

// Add adds a claim. Of an order, its owner is told once that it was made. Whether there
// are the orders that users are told of, and whose they are, is for the database to say.
func (h *History) Add(c rig.Claim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, Operation{Kind: Claim, Claim: c})
	if c.Order == "" {
		return
	}
	if h.made == nil {
		h.made, h.last = map[rig.Claim]bool{}, map[rig.Claim]string{}
	}
	owner := ownerOf(c)
	of := owner
	of.Order = c.Order
	made, known := h.made[of]
	if !known {
		h.told = append(h.told, c)
	}
	if made && Accepted(c) {
		h.Violations.Add("order %s was made twice: %+v", c.Order, c)
	}
	h.made[of], h.last[owner] = made || Accepted(c), c.Order
}

// change adds an operation that is no claim.
func (h *History) change(o Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, o)
	if Accepted(o.Claim) && (o.Kind == Use || o.Kind == Return) {
		h.final = append(h.final, o)
	}
}

// Operations returns all operations in the order in which they were added.
func (h *History) Operations() []Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.operations)
}

// Claims returns all claims in the order of their replies.
func (h *History) Claims() (claims []rig.Claim) {
	for _, o := range h.Operations() {
		if o.Kind == Claim {
			claims = append(claims, o.Claim)
		}
	}
	return Sorted(claims)
}

// Sorted returns claims in the order of their replies.
func Sorted(claims []rig.Claim) []rig.Claim {
	return slices.SortedFunc(slices.Values(claims), func(a, b rig.Claim) int { return a.Received.Compare(b.Received) })
}

// Told returns the first claim of each owner that was told of an order, without the first
// n of them.
func (h *History) Told(n int) []rig.Claim {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clip(h.told[n:])
}

// Final returns the uses and the returns that were made, without the first n of them.
func (h *History) Final(n int) []Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clip(h.final[n:])
}

// Order returns the order that the owner of c was told of last, or nothing.
func (h *History) Order(c rig.Claim) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last[ownerOf(c)]
}
