package order_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
)

// queued starts a claim of another coupon, and returns once it is queued.
func (s *sale) queued(claims *order.Claims, userID, couponID int64) <-chan error {
	s.t.Helper()
	return (&blockade{t: s.t, claims: claims, couponID: couponID}).claim(s.t.Context(), userID)
}

func TestClaimsOfManyCouponsShareABatch(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	claims := s.instance(withLocker(lock.None()))
	plenty, short, claimed := s.coupon(1, 10), s.coupon(2, 1), s.coupon(3, 10)
	if _, err := s.instance().Claim(t.Context(), 7, claimed); err != nil {
		t.Fatal(err)
	}
	release := order.OccupyCommitters(claims)
	results := []struct {
		name   string
		result <-chan error
		want   error
	}{
		{"the second coupon's last unit", s.queued(claims, 9, short), nil},
		{"the first coupon", s.queued(claims, 8, plenty), nil},
		{"beyond the second coupon's stock", s.queued(claims, 3, short), coupon.ErrSoldOut},
		{"a user with an order", s.queued(claims, 7, claimed), order.ErrAlreadyClaimed},
		{"another user", s.queued(claims, 6, claimed), nil},
		{"the same user, of the first coupon", s.queued(claims, 7, plenty), nil},
		{"a user twice, 1st claim", s.queued(claims, 5, plenty), nil},
		{"a user twice, 2nd claim", s.queued(claims, 5, plenty), order.ErrAlreadyClaimed},
	}
	release()
	for _, r := range results {
		expect(t, r.name, r.result, r.want)
	}
	for id, want := range map[int64]order.Audit{
		plenty:  {InitialStock: 10, Stock: 7, Orders: 3, DistinctUsers: 3, MostPerUser: 1},
		short:   {InitialStock: 1, Stock: 0, Orders: 1, DistinctUsers: 1, MostPerUser: 1},
		claimed: {InitialStock: 10, Stock: 8, Orders: 2, DistinctUsers: 2, MostPerUser: 1},
	} {
		want.CouponID = id
		if got := s.audit(id); got != want {
			t.Errorf("coupon %d: %+v, want %+v", id, got, want)
		}
	}
}

// A batch that waits for a locked coupon is split. The coupon is then alone in
// its batches, and the claims of others wait no more.
func TestLockedCouponsDelayTheOthersOnce(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	claims := s.instance(withLocker(lock.None()))
	other := s.coupon(100, 10_000)
	var blockades []*blockade
	for n := range int64(order.MaxCommitters) {
		blockades = append(blockades, s.block(claims, s.coupon(n+1, 10)))
	}
	release := order.OccupyCommitters(claims)
	var first, second []<-chan error
	for _, b := range blockades {
		first = append(first, s.queued(claims, 1, b.couponID))
	}
	sharing := s.queued(claims, 1, other)
	release()
	expect(t, "the claim that shares the batch", sharing, nil)
	for _, b := range blockades {
		second = append(second, s.queued(claims, 2, b.couponID))
	}
	for _, result := range first {
		expect(t, "a claim of a locked coupon", result, order.ErrUnavailable)
	}
	for user, end := int64(2), time.Now().Add(1500*time.Millisecond); time.Now().Before(end); user++ {
		ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
		if _, err := claims.Claim(ctx, user, other); err != nil {
			t.Errorf("claim %d of the other coupon: %v", user, err)
		}
		cancel()
	}
	for i, b := range blockades {
		b.lift()
		expect(t, "a claim of a locked coupon, after the lock", second[i], nil)
		if _, err := claims.Claim(t.Context(), 3, b.couponID); err != nil {
			t.Errorf("after the lock: %v", err)
		}
	}
}

// Two instances sell many coupons at once, more than they have.
func TestManyCouponsKeepEveryPromise(t *testing.T) {
	t.Parallel()
	const coupons, stock, users, claimsPerUser = 40, 5, 120, 20
	s := newSale(t)
	instances := []*order.Claims{s.instance(withLocker(lock.None())), s.instance(withLocker(lock.None()))}
	for id := range int64(coupons) {
		s.coupon(id+1, stock)
	}
	var accepted [coupons]atomic.Int64
	var wg sync.WaitGroup
	for user := range int64(users) {
		wg.Go(func() {
			for n := range claimsPerUser {
				id := rand.Int64N(coupons)
				_, err := instances[n%2].Claim(t.Context(), user+1, id+1)
				switch {
				case err == nil:
					accepted[id].Add(1)
				case !errors.Is(err, coupon.ErrSoldOut) && !errors.Is(err, order.ErrAlreadyClaimed):
					t.Errorf("coupon %d: %v", id+1, err)
				}
			}
		})
	}
	wg.Wait()
	for id := range int64(coupons) {
		n, got := accepted[id].Load(), s.audit(id+1)
		if got.Oversold()+got.Duplicates()+got.Undersold() > 0 || got.Orders != stock || int(n) != stock {
			t.Errorf("%d accepted, audit %+v", n, got)
		}
	}
	labtest.Eventually(t, "no claim is queued", func() bool { return order.Queued(instances[0]) == 0 })
}

// More coupons are locked than the pool has connections. The other claims need
// the pool to read their coupon.
func TestManyLockedCouponsLeaveConnections(t *testing.T) {
	t.Parallel()
	const locked = 40
	s := newSale(t)
	claims := s.instance(withLocker(lock.None()), func(c *order.Config) { c.DB.SetMaxOpenConns(locked / 2) })
	for id := range int64(locked) {
		s.coupon(id+1, 10)
	}
	db := labtest.Open(t, s.dsn)
	blocker := db.MustBegin()
	defer blocker.Rollback()
	blocker.MustExec(`UPDATE coupons SET stock = stock + 1, initial_stock = initial_stock + 1`)
	release := order.OccupyCommitters(claims)
	var results []<-chan error
	for id := range int64(locked) {
		results = append(results, s.queued(claims, 1, id+1))
	}
	release()
	labtest.Eventually(t, "coupons are committed alone", func() bool { return s.executing(db, "SELECT id%stock FROM coupons%") > 2 })
	for id := int64(101); id <= 110; id++ {
		ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
		if _, err := claims.Claim(ctx, 1, s.coupon(id, 1)); err != nil {
			t.Errorf("claim of another coupon: %v", err)
		}
		cancel()
	}
	if err := blocker.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, result := range results {
		if err := <-result; err != nil && !errors.Is(err, order.ErrUnavailable) {
			t.Error(err)
		}
	}
}
