// Package slots bounds the claims that run at a time, so that no coupon takes the
// slots of the others.
package slots

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/flashsale/internal/admission"
)

// Slots bounds the claims that run at a time. The others wait on small stacks:
// with thousands of connections, the stacks of running claims would take most of
// the memory.
//
// A coupon is given a slot only while it holds fewer than are free. So one
// coupon holds at most half of the slots, two hold a third each, and however
// many are stuck, the next coupon finds a free slot.
type Slots struct {
	stuckAfter time.Duration // 0: no coupon is ever stuck

	mu      sync.Mutex
	free    int
	coupons map[int64]*share // that hold slots or wait for one
	waiting list.List        // of *share that have waiters, in turn
}

type share struct {
	held    int
	waiters list.List     // of waiter, in order of arrival
	turn    *list.Element // in Slots.waiting, if there are waiters

	progress time.Time // when a claim last released its slot, or the first of the waiters came
	watched  bool      // refuseStuck will run
	stuck    bool      // refuseStuck has refused the waiters, and no claim has released its slot since
}

type waiter struct {
	since  time.Time
	result chan error // nil: a slot is given; buffered: sending does not block
}

// New returns n slots. A coupon whose waiters wait for so long without any claim of it
// ending is stuck: its row is locked. They are refused then, because they keep connections
// that other coupons' claims need. With 0 none is refused.
func New(n int, stuckAfter time.Duration) *Slots {
	return &Slots{stuckAfter: stuckAfter, free: n, coupons: map[int64]*share{}}
}

// Acquire blocks until the coupon is given a slot, and reports whether it had to
// wait. If ctx ends first, Acquire returns an error and holds no slot. It returns
// admission.ErrOverloaded if the coupon is stuck, or turns out to be.
func (s *Slots) Acquire(ctx context.Context, couponID int64) (waited bool, err error) {
	s.mu.Lock()
	c := s.coupons[couponID]
	if c == nil {
		c = new(share)
		s.coupons[couponID] = c
	}
	if c.waiters.Len() == 0 && c.held < s.free {
		s.give(c)
		s.mu.Unlock()
		return false, nil
	}
	if c.stuck {
		s.mu.Unlock()
		return false, admission.ErrOverloaded
	}
	result := make(chan error, 1)
	place := c.waiters.PushBack(waiter{time.Now(), result})
	if c.turn == nil {
		c.turn = s.waiting.PushBack(c)
		c.progress = time.Now()
	}
	s.watch(c, s.stuckAfter)
	s.mu.Unlock()
	select {
	case err := <-result:
		return true, err
	case <-ctx.Done():
		s.leave(couponID, c, place)
		return true, fmt.Errorf("waiting for a slot: %w", context.Cause(ctx))
	}
}

// Overloaded reports whether Acquire would return admission.ErrOverloaded at once.
func (s *Slots) Overloaded(couponID int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.coupons[couponID]
	return c != nil && c.stuck && c.held >= s.free
}

func (s *Slots) give(c *share) {
	c.held++
	s.free--
}

// Release returns a slot.
func (s *Slots) Release(couponID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeBack(couponID, s.coupons[couponID])
}

// takeBack takes a slot back from c, which is not stuck then.
func (s *Slots) takeBack(couponID int64, c *share) {
	c.progress, c.stuck = time.Now(), false
	c.held--
	s.free++
	s.giveWaiters()
	s.forgetIdle(couponID, c)
}

// giveWaiters gives the free slots to waiting coupons, one each.
func (s *Slots) giveWaiters() {
	var next *list.Element
	for e := s.waiting.Front(); e != nil && s.free > 0; e = next {
		next = e.Next()
		c := e.Value.(*share)
		if c.waiters.Len() > 0 && c.held < s.free {
			s.give(c)
			c.reply(nil)
			s.waiting.MoveToBack(e)
		}
		s.endTurn(c)
	}
}

// reply ends the wait of the first waiter.
func (c *share) reply(err error) { c.waiters.Remove(c.waiters.Front()).(waiter).result <- err }

// watch has the waiters of c refused once it is stuck, after d at the earliest.
func (s *Slots) watch(c *share, d time.Duration) {
	if !c.watched && s.stuckAfter > 0 {
		c.watched = true
		time.AfterFunc(d, func() { s.refuseStuck(c) })
	}
}

// refuseStuck refuses the waiters of c if it is stuck by now, and watches it again
// otherwise.
func (s *Slots) refuseStuck(c *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.watched = false
	left := s.stuckAfter - time.Since(c.progress)
	switch {
	case c.waiters.Len() == 0:
	case left > 0:
		s.watch(c, left)
	case c.held == 0: // they wait for the slots of other coupons
		s.watch(c, s.stuckAfter)
	default:
		c.stuck = true
		for c.waiters.Len() > 0 {
			c.reply(admission.ErrOverloaded)
		}
		s.endTurn(c)
	}
}

// endTurn removes a coupon without waiters from the turns.
func (s *Slots) endTurn(c *share) {
	if c.turn != nil && c.waiters.Len() == 0 {
		s.waiting.Remove(c.turn)
		c.turn = nil
	}
}

// leave removes a waiter. A slot that it was given meanwhile is returned.
func (s *Slots) leave(couponID int64, c *share, place *list.Element) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case err := <-place.Value.(waiter).result:
		if err == nil {
			s.takeBack(couponID, c)
		}
	default:
		c.waiters.Remove(place)
		s.endTurn(c)
		s.forgetIdle(couponID, c)
	}
}

// A Usage is how many claims run, how many wait for a slot, and for how long the
// first of them has waited.
type Usage struct {
	Running, Waiting int
	Wait             time.Duration
}

// Usage returns the current usage.
func (s *Slots) Usage() (u Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.coupons {
		u.Running += c.held
		n := c.waiters.Len()
		u.Waiting += n
		if n > 0 {
			u.Wait = max(u.Wait, time.Since(c.waiters.Front().Value.(waiter).since))
		}
	}
	return u
}

func (s *Slots) forgetIdle(couponID int64, c *share) {
	if c.held == 0 && c.waiters.Len() == 0 {
		delete(s.coupons, couponID)
	}
}
