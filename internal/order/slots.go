package order

import (
	"container/list"
	"context"
	"fmt"
	"sync"
)

// slots bounds the claims that run at a time. The others wait on small stacks:
// with thousands of connections, the stacks of running claims would take most of
// the memory.
//
// A coupon is given a slot only while it holds fewer than are free. So one
// coupon holds at most half of the slots, two hold a third each, and however
// many are stuck, the next coupon finds a free slot.
type slots struct {
	mu      sync.Mutex
	free    int
	coupons map[int64]*couponSlots // that hold slots or wait for one
	waiting list.List              // of *couponSlots with waiters, in turn
}

type couponSlots struct {
	held    int
	waiters list.List     // of chan struct{}, in order of arrival
	turn    *list.Element // in slots.waiting, if there are waiters
}

// maxRunning is the number of slots for claims; half of it for one coupon.
const maxRunning = 2048

func newSlots(n int) *slots { return &slots{free: n, coupons: map[int64]*couponSlots{}} }

// take blocks until the coupon is given a slot, and reports whether it had to
// wait. If ctx ends first, take returns an error and holds no slot.
func (s *slots) take(ctx context.Context, couponID int64) (waited bool, err error) {
	s.mu.Lock()
	c := s.coupons[couponID]
	if c == nil {
		c = new(couponSlots)
		s.coupons[couponID] = c
	}
	if c.waiters.Len() == 0 && c.held < s.free {
		s.give(c)
		s.mu.Unlock()
		return false, nil
	}
	given := make(chan struct{})
	waiter := c.waiters.PushBack(given)
	if c.turn == nil {
		c.turn = s.waiting.PushBack(c)
	}
	s.mu.Unlock()
	select {
	case <-given:
		return true, nil
	case <-ctx.Done():
		s.leave(couponID, c, waiter)
		return true, fmt.Errorf("waiting for a slot: %w", context.Cause(ctx))
	}
}

func (s *slots) give(c *couponSlots) {
	c.held++
	s.free--
}

// release returns a slot.
func (s *slots) release(couponID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.coupons[couponID]
	c.held--
	s.free++
	s.giveWaiters()
	s.forgetIdle(couponID, c)
}

// giveWaiters gives the free slots to waiting coupons, one each.
func (s *slots) giveWaiters() {
	var next *list.Element
	for e := s.waiting.Front(); e != nil && s.free > 0; e = next {
		next = e.Next()
		c := e.Value.(*couponSlots)
		if c.held >= s.free {
			continue
		}
		s.give(c)
		close(c.waiters.Remove(c.waiters.Front()).(chan struct{}))
		s.waiting.MoveToBack(e)
		s.endTurn(c)
	}
}

// endTurn removes a coupon without waiters from the turns.
func (s *slots) endTurn(c *couponSlots) {
	if c.turn != nil && c.waiters.Len() == 0 {
		s.waiting.Remove(c.turn)
		c.turn = nil
	}
}

// leave removes a waiter. A slot that it was given meanwhile is returned.
func (s *slots) leave(couponID int64, c *couponSlots, waiter *list.Element) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-waiter.Value.(chan struct{}):
		c.held--
		s.free++
		s.giveWaiters()
	default:
		c.waiters.Remove(waiter)
		s.endTurn(c)
	}
	s.forgetIdle(couponID, c)
}

// usage returns the number of slots that are held, and of claims that wait for
// one.
func (s *slots) usage() (held, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.coupons {
		held += c.held
		waiting += c.waiters.Len()
	}
	return held, waiting
}

func (s *slots) forgetIdle(couponID int64, c *couponSlots) {
	if c.held == 0 && c.waiters.Len() == 0 {
		delete(s.coupons, couponID)
	}
}
