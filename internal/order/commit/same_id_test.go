package commit_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

// All claims of a batch, two of each user, have the same id, which also an earlier
// order of the first user has in the second case.
func TestVerdictsOfABatchWithOneIDAreTrue(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"fresh id": 0, "id of an earlier order": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const id, couponID, users, stock = 7, 1, 6, 20
			s := ordertest.NewSale(t)
			s.Coupon(couponID, stock)
			i := s.Instance()
			segment := order.Segment{CouponID: couponID}
			now := time.Now().UTC().Truncate(time.Millisecond)
			claim := func(userID int64, age time.Duration) error {
				created := now.Add(-age)
				return i.Committer.Commit(t.Context(), segment,
					order.Order{ID: id, CouponID: couponID, Claimant: order.Claimant{UserID: userID, Number: 1},
						CreatedAt: created})
			}
			if before == 1 {
				check.NoError(t, claim(2, time.Hour))
			}
			b := block(s, i, couponID)
			var group sync.WaitGroup
			errs := make([]error, 2*users)
			for n := range errs {
				group.Go(func() { errs[n] = claim(int64(n%users)+2, time.Duration(n%users)*time.Second) })
			}
			check.Eventually(t, "all are queued", func() bool {
				_, orders := commit.Queued(i.Committer)
				return orders == len(errs)
			})
			b.lift()
			group.Wait()
			accepted := 0
			for n, err := range errs {
				switch {
				case err == nil:
					accepted++
				case !errors.Is(err, order.ErrIDTaken) && !errors.Is(err, order.ErrAlreadyClaimed):
					t.Errorf("claim %d: %v", n, err)
				}
			}
			if a := s.Audit(couponID); accepted+before != 1 || a.Orders != 2 || a.Stock != stock-2 {
				t.Errorf("%d of the claims accepted, %d orders, stock %d", accepted, a.Orders, a.Stock)
			}
		})
	}
}

// It was made at another instance.
func TestOrderOfTheSameMillisecondIsAnother(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	committer, couponID := s.Instance().Committer, s.Coupon(1, 5)
	o := order.Order{ID: 7, CouponID: couponID, Claimant: order.Claimant{UserID: 42, Number: 1},
		CreatedAt: time.Now().UTC().Truncate(time.Millisecond)}
	check.NoError(t, committer.Commit(t.Context(), order.Segment{CouponID: couponID}, o))
	o.ID = 8
	err := committer.Commit(t.Context(), order.Segment{CouponID: couponID}, o)
	ordertest.WantOrder(t, err, 7)
	s.WantSold(couponID, 1, 4)
}
