// Package history records what the clients of a sale were told while its parts
// failed, and computes from it how long the sale was interrupted.
package history

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A History is the claims of all clients of a sale. It is safe for concurrent use.
type History struct {
	mu     sync.Mutex
	claims []rig.Claim
	told   []rig.Claim // the first claim of each user and coupon that was told of an order
	first  map[[2]int64]rig.Claim
}

// New returns an empty history.
func New() *History { return &History{first: map[[2]int64]rig.Claim{}} }

// Add adds a claim. It returns an error if the reply contradicts an earlier one: a
// user has one order of a coupon, and is told once that it was made.
func (h *History) Add(c rig.Claim) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.claims = append(h.claims, c)
	if c.Order == "" {
		return nil
	}
	owner := [2]int64{c.User, c.Coupon}
	first, known := h.first[owner]
	switch {
	case !known:
		h.told, h.first[owner] = append(h.told, c), c
	case first.Order != c.Order, first.Verdict == rig.Accepted && c.Verdict == rig.Accepted:
		return fmt.Errorf("contradiction: %+v after %+v", c, first)
	}
	if c.Verdict == rig.Accepted {
		h.first[owner] = c
	}
	return nil
}

// Claims returns all claims in the order of their replies.
func (h *History) Claims() []rig.Claim {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Sorted(h.claims)
}

// Sorted returns claims in the order of their replies.
func Sorted(claims []rig.Claim) []rig.Claim {
	return slices.SortedFunc(slices.Values(claims), func(a, b rig.Claim) int { return a.Received.Compare(b.Received) })
}

// Told returns the first claim of each user and coupon that was told of an order,
// without the first n of them.
func (h *History) Told(n int) []rig.Claim {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.told[n:len(h.told):len(h.told)]
}

// Order returns the order that the user was told of, or nothing.
func (h *History) Order(user, coupon int64) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.first[[2]int64{user, coupon}].Order
}

// AcceptedSince returns how many claims were sent after begin and accepted.
func (h *History) AcceptedSince(begin time.Time) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.claims {
		if Accepted(c) && c.Sent.After(begin) {
			n++
		}
	}
	return n
}
