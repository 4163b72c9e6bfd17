package order

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// takeAll returns how many slots a coupon is given before it would have to wait.
func (s *slots) takeAll(couponID int64) (held int) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		if _, err := s.take(ctx, couponID); err != nil {
			return held
		}
		held++
	}
}

func TestCouponsShareTheSlots(t *testing.T) {
	t.Parallel()
	s := newSlots(1024)
	for couponID, want := range []int{512, 256, 128, 64, 32, 16, 8, 4, 2, 1, 1, 0} {
		if got := s.takeAll(int64(couponID)); got != want {
			t.Errorf("coupon %d: %d slots, want %d", couponID, got, want)
		}
	}
	s.release(0)
	s.release(0)
	if got := s.takeAll(99); got != 1 {
		t.Errorf("another coupon, after two of 1024 slots were released: %d slots, want 1", got)
	}
}

// Coupons with waiters are given slots in turn, even if one of them has all.
func TestWaitingCouponsAreGivenSlotsInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		s.takeAll(1) // one slot
		s.takeAll(2) // the other
		given := make(chan int64)
		for _, couponID := range []int64{1, 1, 1, 3, 3} {
			go func() {
				if _, err := s.take(context.Background(), couponID); err != nil {
					t.Error(err)
				}
				given <- couponID
			}()
			synctest.Wait()
		}
		s.release(1)
		for i, want := range []int64{1, 3, 1, 3, 1} {
			if got := <-given; got != want {
				t.Fatalf("slot %d was given to coupon %d, want %d", i, got, want)
			}
			s.release(want)
		}
	})
}

func TestWaiterThatGivesUpLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		s.takeAll(1)
		for range 100 {
			ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errClosed)
			defer cancel()
			go func() {
				if waited, err := s.take(ctx, 1); !waited || !errors.Is(err, errClosed) {
					t.Errorf("waited %v, error %v, want the context's cause", waited, err)
				}
			}()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := s.coupons[1].waiters.Len() + s.waiting.Len(); n != 0 {
			t.Errorf("%d waiters are left", n)
		}
		s.release(1)
		if s.free != 2 || len(s.coupons) != 0 {
			t.Errorf("%d of 2 slots are free, %d coupons are left", s.free, len(s.coupons))
		}
	})
}

func TestNoSlotIsLost(t *testing.T) {
	t.Parallel()
	const slotCount = 8
	s := newSlots(slotCount)
	var running atomic.Int64
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			for range 200 {
				ctx, cancel := context.WithTimeout(context.Background(), rand.N(time.Millisecond))
				couponID := rand.Int64N(5)
				if _, err := s.take(ctx, couponID); err == nil {
					if n := running.Add(1); n > slotCount {
						t.Errorf("%d slots of %d are taken", n, slotCount)
					}
					time.Sleep(rand.N(50 * time.Microsecond))
					running.Add(-1)
					s.release(couponID)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if s.free != slotCount || len(s.coupons) != 0 || s.waiting.Len() != 0 {
		t.Errorf("%d of %d slots are free, %d coupons are left, %d wait", s.free, slotCount, len(s.coupons), s.waiting.Len())
	}
}
