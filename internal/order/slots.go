package order

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/internal/admission"
)

// slots bounds the claims that run at a time. The others wait on small stacks:
// with thousands of connections, the stacks of running claims would take most of
// the memory.
//
// A coupon is given a slot only while it holds fewer than are free. So one
// coupon holds at most half of the slots, two hold a third each, and however
// many are stuck, the next coupon finds a free slot.
type slots struct {
	limits  admission.Limits // of the wait for a slot
	crowded atomic.Int64     // coupons with waiters

	mu      sync.Mutex
	free    int
	coupons map[int64]*couponSlots // that hold slots or wait for one
	waiting list.List              // of *couponSlots with waiters, in turn
}

type couponSlots struct {
	held    int
	waiters list.List     // of chan struct{}, in order of arrival
	turn    *list.Element // in slots.waiting, if there are waiters

	forecast admission.Forecast // of its waiters
}

// maxRunning is the number of slots for claims; half of it for one coupon. So many
// fill two batches and more.
const maxRunning = 1536

func newSlots(n int, limits admission.Limits) *slots {
	return &slots{limits: limits, free: n, coupons: map[int64]*couponSlots{}}
}

// take blocks until the coupon is given a slot, and reports whether it had to
// wait. If ctx ends first, take returns an error and holds no slot. It returns
// ErrOverloaded at once if it would have to wait for longer than the limits allow.
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
	if !s.mayWait(ctx, c) {
		s.mu.Unlock()
		return false, ErrOverloaded
	}
	given := make(chan struct{})
	waiter := c.waiters.PushBack(given)
	if c.turn == nil {
		c.turn = s.waiting.PushBack(c)
		s.crowded.Add(1)
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

// mayWait reports whether one more claim may wait for a slot of c.
func (s *slots) mayWait(ctx context.Context, c *couponSlots) bool {
	deadline, _ := ctx.Deadline()
	return c.forecast.Join(time.Now(), c.waiters.Len(), s.limits, deadline)
}

// overloaded reports whether take would return ErrOverloaded.
func (s *slots) overloaded(ctx context.Context, couponID int64) bool {
	if s.crowded.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.coupons[couponID]
	return c != nil && c.waiters.Len() > 0 && !s.mayWait(ctx, c)
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
		c.forecast.Leave(time.Now())
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
		s.crowded.Add(-1)
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

// A SlotUsage is how many claims run, how many wait for a slot, and the longest
// wait that is predicted for a claim of any coupon.
type SlotUsage struct {
	Running, Waiting int
	Wait             time.Duration
}

// usage returns the current usage.
func (s *slots) usage() (u SlotUsage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.coupons {
		u.Running += c.held
		n := c.waiters.Len()
		u.Waiting += n
		if n > 0 {
			wait, _ := c.forecast.Wait(time.Now(), n)
			u.Wait = max(u.Wait, wait)
		}
	}
	return u
}

func (s *slots) forgetIdle(couponID int64, c *couponSlots) {
	if c.held == 0 && c.waiters.Len() == 0 {
		delete(s.coupons, couponID)
	}
}
