package slots

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/check"
)

var errGivenUp = errors.New("given up")

const stuckAfter = 500 * time.Millisecond

// takeAll returns how many slots a coupon is given before it would have to wait.
func (s *Slots) takeAll(couponID int64) (held int) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		if _, err := s.Acquire(ctx, couponID); err != nil {
			return held
		}
		held++
	}
}

func TestCouponsShareTheSlots(t *testing.T) {
	t.Parallel()
	s := New(1024, 0)
	for couponID, want := range []int{512, 256, 128, 64, 32, 16, 8, 4, 2, 1, 1, 0} {
		if got := s.takeAll(int64(couponID)); got != want {
			t.Errorf("coupon %d: %d slots, want %d", couponID, got, want)
		}
	}
	s.Release(0)
	s.Release(0)
	if got := s.takeAll(99); got != 1 {
		t.Errorf("another coupon, after two of 1024 slots were released: %d slots, want 1", got)
	}
}

// Coupons with waiters are given slots in turn, even if one of them has all.
func TestWaitingCouponsAreGivenSlotsInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(2, 0)
		s.takeAll(1) // one slot
		s.takeAll(2) // the other
		given := make(chan int64)
		for _, couponID := range []int64{1, 1, 1, 3, 3} {
			go func() {
				if _, err := s.Acquire(context.Background(), couponID); err != nil {
					t.Error(err)
				}
				given <- couponID
			}()
			synctest.Wait()
		}
		s.Release(1)
		for i, want := range []int64{1, 3, 1, 3, 1} {
			if got := <-given; got != want {
				t.Fatalf("slot %d was given to coupon %d, want %d", i, got, want)
			}
			s.Release(want)
		}
	})
}

func TestWaiterThatGivesUpLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(2, 0)
		s.takeAll(1)
		for range 100 {
			ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errGivenUp)
			defer cancel()
			go func() {
				if waited, err := s.Acquire(ctx, 1); !waited || !errors.Is(err, errGivenUp) {
					t.Errorf("waited %v, error %v, want the context's cause", waited, err)
				}
			}()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := s.coupons[1].waiters.Len() + s.waiting.Len(); n != 0 {
			t.Errorf("%d waiters are left", n)
		}
		s.Release(1)
		if s.free != 2 || len(s.coupons) != 0 {
			t.Errorf("%d of 2 slots are free, %d coupons are left", s.free, len(s.coupons))
		}
	})
}

func TestNoSlotIsLost(t *testing.T) {
	t.Parallel()
	const slotCount = 8
	s := New(slotCount, 0)
	var running atomic.Int64
	check.AtOnce(100, func(int) {
		for range 200 {
			ctx, cancel := context.WithTimeout(context.Background(), rand.N(time.Millisecond))
			couponID := rand.Int64N(5)
			if _, err := s.Acquire(ctx, couponID); err == nil {
				if n := running.Add(1); n > slotCount {
					t.Errorf("%d slots of %d are taken", n, slotCount)
				}
				time.Sleep(rand.N(50 * time.Microsecond))
				running.Add(-1)
				s.Release(couponID)
			}
			cancel()
		}
	})
	if s.free != slotCount || len(s.coupons) != 0 || s.waiting.Len() != 0 {
		t.Errorf("%d of %d slots are free, %d coupons are left, %d wait", s.free, slotCount, len(s.coupons),
			s.waiting.Len())
	}
}

// Otherwise they would keep connections that the claims of other coupons need.
func TestWaitersOfAStuckCouponAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(8, stuckAfter)
		const stuck, other = 1, 2
		held, begin := s.takeAll(stuck), time.Now()
		check.AtOnce(100, func(int) {
			_, err := s.Acquire(t.Context(), stuck)
			if took := time.Since(begin); !errors.Is(err, admission.ErrOverloaded) || took != stuckAfter {
				t.Errorf("a waiter got %v after %s, want ErrOverloaded after %s", err, took, stuckAfter)
			}
		})
		if _, err := s.Acquire(t.Context(), other); err != nil || s.Overloaded(other) {
			t.Errorf("a claim of another coupon: %v", err)
		}
		s.Release(other)
		if _, err := s.Acquire(t.Context(), stuck); !errors.Is(err, admission.ErrOverloaded) ||
			!s.Overloaded(stuck) || time.Since(begin) != stuckAfter {
			t.Errorf("the next claim: %v, want ErrOverloaded at once", err)
		}
		s.Release(stuck)
		if _, err := s.Acquire(t.Context(), stuck); err != nil || s.Overloaded(stuck) {
			t.Errorf("after a claim has ended: %v", err)
		}
		for range held {
			s.Release(stuck)
		}
		if s.free != 8 || len(s.coupons)+s.waiting.Len() != 0 {
			t.Errorf("%d of 8 slots are free, %d coupons are left, %d wait", s.free, len(s.coupons), s.waiting.Len())
		}
	})
}

// A coupon without a slot waits for those of the others, which may all be stuck.
func TestCouponWithoutASlotIsNotStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(2, stuckAfter)
		const without = 3
		held := map[int64]int{1: s.takeAll(1), 2: s.takeAll(2)}
		if held[1]+held[2] != 2 {
			t.Fatalf("the others hold %v, want all slots", held)
		}
		result := make(chan error)
		go func() { _, err := s.Acquire(t.Context(), without); result <- err }()
		time.Sleep(3 * stuckAfter)
		s.Release(1)
		if err := <-result; err != nil {
			t.Fatalf("the claim that waited: %v", err)
		}
		s.Release(without)
		s.Release(2)
		if s.free != 2 || len(s.coupons)+s.waiting.Len() != 0 {
			t.Errorf("%d of 2 slots are free, %d coupons are left, %d wait", s.free, len(s.coupons), s.waiting.Len())
		}
	})
}

// A coupon whose claims end is not stuck, even if they pause.
func TestWaitersOfASlowCouponWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(4, stuckAfter)
		s.takeAll(1)
		const waiters = 3
		results := make(chan error, waiters)
		for range waiters {
			go func() { _, err := s.Acquire(t.Context(), 1); results <- err }()
		}
		for range waiters {
			time.Sleep(stuckAfter - time.Millisecond)
			s.Release(1)
			if err := <-results; err != nil {
				t.Errorf("a waiter: %v", err)
			}
		}
	})
}

// It has no slot that it could return.
func TestWaiterThatGivesUpWhenItIsRefusedReturnsNoSlot(t *testing.T) {
	t.Parallel()
	s := New(2, stuckAfter)
	s.takeAll(1)
	c := s.coupons[1]
	c.progress = time.Now().Add(-stuckAfter)
	place := c.waiters.PushBack(waiter{time.Now(), make(chan error, 1)})
	s.refuseStuck(c)
	s.leave(1, c, place)
	if s.free != 1 || c.held != 1 {
		t.Errorf("%d slots are free, %d are held, want one each", s.free, c.held)
	}
}

// The first waiter has given up, and its end of the wait is not that of the second.
func TestEveryWaiterHasItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(2, stuckAfter)
		s.takeAll(1)
		ctx, cancel := context.WithTimeout(t.Context(), stuckAfter/4)
		defer cancel()
		_, _ = s.Acquire(ctx, 1)
		time.Sleep(stuckAfter / 4)
		begin := time.Now()
		if _, err := s.Acquire(t.Context(), 1); time.Since(begin) != stuckAfter {
			t.Errorf("%v after %s, want %s", err, time.Since(begin), stuckAfter)
		}
	})
}

// Its claims still hang, but the other coupons have returned theirs.
func TestStuckCouponIsNotOverloadedWhenItGetsASlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(4, stuckAfter)
		others := s.takeAll(1)
		s.takeAll(2)
		_, _ = s.Acquire(t.Context(), 2)
		if !s.Overloaded(2) {
			t.Error("a stuck coupon without a free slot is not overloaded")
		}
		for range others {
			s.Release(1)
		}
		if s.Overloaded(2) {
			t.Error("overloaded, although there is a slot for it")
		}
		if waited, err := s.Acquire(t.Context(), 2); waited || err != nil {
			t.Errorf("waited: %v, %v", waited, err)
		}
	})
}
