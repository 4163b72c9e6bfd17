package commit_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

func TestClaimsOfManyCouponsShareABatch(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	claims := s.Instance(ordertest.WithLocker(lock.None()))
	plenty, short, claimed := s.Coupon(1, 10), s.Coupon(2, 1), s.Coupon(3, 10)
	ordertest.WantClaim(t, s.Instance(), 7, claimed, nil)
	release := commit.OccupyWorkers(claims.Committer)
	results := []struct {
		name   string
		result <-chan error
		want   error
	}{
		{"the second coupon's last unit", queued(t, t.Context(), claims, 9, short), nil},
		{"the first coupon", queued(t, t.Context(), claims, 8, plenty), nil},
		{"beyond the second coupon's stock", queued(t, t.Context(), claims, 3, short), coupon.ErrSoldOut},
		{"a user with an order", queued(t, t.Context(), claims, 7, claimed), order.ErrAlreadyClaimed},
		{"another user", queued(t, t.Context(), claims, 6, claimed), nil},
		{"the same user, of the first coupon", queued(t, t.Context(), claims, 7, plenty), nil},
		{"a user twice, 1st claim", queued(t, t.Context(), claims, 5, plenty), nil},
		{"a user twice, 2nd claim", queued(t, t.Context(), claims, 5, plenty), order.ErrAlreadyClaimed},
	}
	release()
	for _, r := range results {
		ordertest.Expect(t, r.name, r.result, r.want)
	}
	for id, want := range map[int64]order.Audit{
		plenty:  {InitialStock: 10, Stock: 7, Orders: 3, DistinctUsers: 3, MostPerUser: 1},
		short:   {InitialStock: 1, Stock: 0, Orders: 1, DistinctUsers: 1, MostPerUser: 1},
		claimed: {InitialStock: 10, Stock: 8, Orders: 2, DistinctUsers: 2, MostPerUser: 1},
	} {
		want.CouponID = id
		if got := s.Audit(id); got != want {
			t.Errorf("coupon %d: %+v, want %+v", id, got, want)
		}
	}
}

func TestOrdersThatABatchHasNoRoomForAreCommitted(t *testing.T) {
	t.Parallel()
	const coupons, each = 4, commit.MaxBatch * 2 / 5 // the third is split, the fourth is left
	s := ordertest.NewSale(t)
	claims := s.Instance(ordertest.WithLocker(lock.None()))
	release := commit.OccupyWorkers(claims.Committer)
	var results []<-chan error
	for id := range int64(coupons) {
		s.Coupon(id+1, each)
		for user := range int64(each) {
			results = append(results, ordertest.Claim(t.Context(), claims, user+1, id+1))
		}
	}
	check.Eventually(t, "all are queued", func() bool {
		_, orders := commit.Queued(claims.Committer)
		return orders == len(results)
	})
	release()
	for _, result := range results {
		ordertest.Expect(t, "a claim", result, nil)
	}
}

// On a sharded database segments are on different shards, and no transaction has orders of
// two.
func TestTransactionsOfAShardedDatabaseHaveOneSegment(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	var transactions, orders atomic.Int64
	claims := s.Instance(ordertest.WithLocker(lock.None()), func(c *ordertest.Config) {
		c.Commit.Sharded = func() bool { return true }
		c.Commit.Ended = func(t commit.Transaction) { transactions.Add(1); orders.Add(int64(t.Orders)) }
	})
	const users = 6 // in both segments
	first, second := s.Split(1, users*2, 2), s.Coupon(2, users)
	release := commit.OccupyWorkers(claims.Committer)
	var results []<-chan error
	for user := range int64(users) {
		for _, id := range []int64{first, second} {
			results = append(results, queued(t, t.Context(), claims, user+1, id))
		}
	}
	release()
	for _, result := range results {
		ordertest.Expect(t, "a claim", result, nil)
	}
	claims.Committer.Close()
	if transactions.Load() != 3 || orders.Load() != int64(len(results)) {
		t.Errorf("%d transactions for %d orders of three segments", transactions.Load(), orders.Load())
	}
	var misplaced int
	s.Get(&misplaced, `
		SELECT COUNT(*) FROM coupon_orders
		WHERE shard_key IS NULL OR shard_key NOT IN (coupon_id, IF(coupon_id = 1, coupon_id ^ 1, coupon_id))`)
	if misplaced > 0 {
		t.Errorf("%d orders have another shard key", misplaced)
	}
}

// A batch that waits for a locked coupon is split. The coupon is then alone in
// its batches, and the claims of others wait no more.
func TestLockedCouponsDelayTheOthersOnce(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	claims := s.Instance(ordertest.WithLocker(lock.None()))
	other := s.Coupon(100, 10_000)
	var unblocks []func()
	for n := range int64(commit.MaxWorkers) {
		unblocks = append(unblocks, s.Block(s.Coupon(n+1, 10)))
	}
	release := commit.OccupyWorkers(claims.Committer)
	var first, second []<-chan error
	for n := range unblocks {
		first = append(first, queued(t, t.Context(), claims, 1, int64(n)+1))
	}
	sharing := queued(t, t.Context(), claims, 1, other)
	release()
	ordertest.Expect(t, "the claim that shares the batch", sharing, nil)
	for n := range unblocks {
		second = append(second, queued(t, t.Context(), claims, 2, int64(n)+1))
	}
	for _, result := range first {
		ordertest.Expect(t, "a claim of a locked coupon", result, order.ErrUnavailable)
	}
	for user, end := int64(2), time.Now().Add(1500*time.Millisecond); time.Now().Before(end); user++ {
		ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
		if _, err := claims.Claim(ctx, user, other); err != nil {
			t.Errorf("claim %d of the other coupon: %v", user, err)
		}
		cancel()
	}
	for n, unblock := range unblocks {
		unblock()
		ordertest.Expect(t, "a claim of a locked coupon, after the lock", second[n], nil)
		ordertest.WantClaim(t, claims, 3, int64(n)+1, nil)
	}
}

// One after the other, each by the only slot of those that are committed alone.
func TestCouponThatWasLockedSharesBatchesAgain(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	proxy, through := s.Proxied()
	claims := s.Instance(through, func(c *ordertest.Config) { c.Commit.DB.SetMaxOpenConns(2) })
	for id := range int64(3) {
		b := block(s, claims, s.Coupon(id+1, 10))
		check.Eventually(t, "the claim is committed alone",
			func() bool { return s.Executing("SELECT stock FROM coupons%") > 0 })
		next := b.claim(t.Context(), 2)
		proxy.Inject(faultproxy.Fault{}, placeBatch, faultproxy.Always)
		b.lift()
		ordertest.Expect(t, "the claim behind it", next, nil)
		if n := proxy.Hits(); n != 1 {
			t.Errorf("%d shared batches after the lock, want that of the claim behind it", n)
		}
	}
}

// More coupons are locked than the pool has connections. The other claims need
// the pool to read their coupon.
func TestManyLockedCouponsLeaveConnections(t *testing.T) {
	t.Parallel()
	const locked = 40
	s := ordertest.NewSale(t)
	claims := s.Instance(ordertest.WithLocker(lock.None()),
		func(c *ordertest.Config) { c.Commit.DB.SetMaxOpenConns(locked / 2) })
	for id := range int64(locked) {
		s.Coupon(id+1, 10)
	}
	db := labtest.Open(t, s.DSN)
	blocker := db.MustBegin()
	defer blocker.Rollback()
	blocker.MustExec(`UPDATE coupons SET stock = stock + 1, initial_stock = initial_stock + 1`)
	release := commit.OccupyWorkers(claims.Committer)
	var results []<-chan error
	for id := range int64(locked) {
		results = append(results, queued(t, t.Context(), claims, 1, id+1))
	}
	release()
	check.Eventually(t, "coupons are committed alone",
		func() bool { return s.Executing("SELECT stock FROM coupons%") > 2 })
	for id := int64(101); id <= 110; id++ {
		ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
		if _, err := claims.Claim(ctx, 1, s.Coupon(id, 1)); err != nil {
			t.Errorf("claim of another coupon: %v", err)
		}
		cancel()
	}
	check.NoError(t, blocker.Commit())
	for _, result := range results {
		if err := <-result; err != nil && !errors.Is(err, order.ErrUnavailable) {
			t.Error(err)
		}
	}
}
