package commit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

// A partition test cuts an instance off MySQL in the middle of a claim, without
// either side being told.
type partitionTest struct {
	strategy commit.Strategy
	change   func(*ordertest.Config)
	request  string // the one at which the network is cut
	reaches  bool   // the server gets the request
	late     bool   // the stock is sold out when the claim reaches the server
}

func noChange(*ordertest.Config) {}

var partitionTests = map[string]partitionTest{
	"each, insert":               {commit.PerClaim, noChange, "\x03INSERT", false, false},
	"each, commit":               {commit.PerClaim, noChange, commitStatement, false, false},
	"each, commit's reply":       {commit.PerClaim, noChange, commitStatement, true, false},
	"each, rollback":             {commit.PerClaim, noChange, "\x03ROLLBACK", false, true},
	"grouped, batch":             {commit.GroupCommit, noChange, placeBatch, false, false},
	"grouped, batch's reply":     {commit.GroupCommit, noChange, placeBatch, true, false},
	"grouped, commit":            {commit.GroupCommit, noChange, commitStatement, false, false},
	"grouped, commit's reply":    {commit.GroupCommit, noChange, commitStatement, true, false},
	"grouped, batch's rollback":  {commit.GroupCommit, noChange, "\x03ROLLBACK", false, true},
	"grouped stepwise, insert":   {commit.GroupCommit, stepByStep, "\x03INSERT", true, false},
	"grouped stepwise, commit":   {commit.GroupCommit, stepByStep, commitStatement, false, false},
	"grouped stepwise, rollback": {commit.GroupCommit, stepByStep, "\x03ROLLBACK", false, true},
}

// claimTimeout is the deadline of a claim. It may take a second longer to read
// back an unknown commit.
const claimTimeout = time.Second

// A silent network delays no claim past its deadline, and the coupon sells on:
// at a healthy instance while the first is cut off, and at the first when the
// network has healed.
func TestSilentMySQLDelaysNoClaimAndNoOtherInstance(t *testing.T) {
	t.Parallel()
	for name, test := range partitionTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.run(t)
		})
	}
}

func (test partitionTest) run(t *testing.T) {
	const stock = 20
	s := ordertest.NewSale(t)
	id := s.Coupon(1, stock)
	proxy, through := s.Proxied()
	healthy := s.Instance(ordertest.WithStrategy(test.strategy))
	var cache *coupon.Cache
	cut := s.Instance(ordertest.WithStrategy(test.strategy), through, test.change, func(c *ordertest.Config) {
		cache = coupon.NewCache(coupon.NewStore(c.Commit.DB), time.Hour) // takes the stock for what it was
		c.Order.Coupons = cache
	})
	ordertest.WantClaim(t, cut, 1, id, nil)
	if test.late {
		sellRest(s, healthy, id, stock)
	}
	if test.reaches {
		proxy.PartitionAfter(test.request)
	} else {
		proxy.PartitionBefore(test.request)
	}
	user, err := int64(42), error(nil)
	check.Eventually(t, "the network is cut", func() bool { // on a busy machine a claim may end before
		user++
		err = claimInTime(t, cut, user, id)
		return proxy.Partitioned()
	})
	if want := order.ErrUnavailable; !errors.Is(err, want) && !(test.late && errors.Is(err, coupon.ErrSoldOut)) {
		t.Errorf("claim: %v, want %v", err, want)
	}
	_ = claimInTime(t, cut, user+1, id)
	if test.late {
		cache.Put(restock(s, id, stock))
	}
	sellsWithin(s, 20*time.Second, healthy, id, 100)
	proxy.Heal()
	sellsWithin(s, 20*time.Second, cut, id, 200)
	check.NoError(t, cut.Close(t.Context()))
	if a := s.Audit(id); a.Undersold() != 0 || a.Oversold() != 0 || a.Orders+a.Stock != a.InitialStock {
		t.Errorf("audit %+v", a)
	}
}

// claimInTime makes a claim and checks that it returns in time.
func claimInTime(t *testing.T, claims *ordertest.Instance, userID, couponID int64) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), claimTimeout)
	defer cancel()
	select {
	case err := <-ordertest.Claim(ctx, claims, userID, couponID):
		return err
	case <-time.After(claimTimeout + time.Second + 5*time.Second): // the last for a busy machine
		t.Fatal("the claim did not return in time")
		return nil
	}
}

// sellRest sells what is left of the stock.
func sellRest(s *ordertest.Sale, claims *ordertest.Instance, couponID int64, stock int) {
	s.T.Helper()
	for user := range int64(stock) {
		if _, err := claims.Claim(s.T.Context(), 1000+user, couponID); err != nil &&
			!errors.Is(err, coupon.ErrSoldOut) {
			s.T.Fatal(err)
		}
	}
}

// restock adds units to the stock and returns the coupon.
func restock(s *ordertest.Sale, couponID int64, units int) coupon.Coupon {
	s.T.Helper()
	const q = `UPDATE coupons SET stock = stock + ?, initial_stock = initial_stock + ? WHERE id = ?`
	if _, err := labtest.Open(s.T, s.DSN).ExecContext(s.T.Context(), q, units, units, couponID); err != nil {
		s.T.Fatal(err)
	}
	c, err := s.Coupons.Find(s.T.Context(), couponID)
	check.NoError(s.T, err)
	return c
}

// sellsWithin checks that one of the claims of users from first on, one claim
// after the other, gets an order within d.
func sellsWithin(s *ordertest.Sale, d time.Duration, claims *ordertest.Instance, couponID, first int64) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), d)
	defer cancel()
	var err error
	for user := first; ctx.Err() == nil; user++ {
		attempt, stop := context.WithTimeout(ctx, claimTimeout)
		_, err = claims.Claim(attempt, user, couponID)
		stop()
		if err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.T.Errorf("users from %d on: no order within %s: %v", first, d, err)
}

// The drain of an instance that has lost MySQL ends.
func TestCloseEndsAlthoughMySQLIsSilent(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	id := s.Coupon(1, 5)
	proxy, through := s.Proxied()
	claims := s.Instance(through)
	proxy.PartitionBefore(commitStatement)
	_ = claimInTime(t, claims, 42, id)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	check.NoError(t, claims.Close(ctx))
}

// Close returns when its context ends, whatever still runs.
func TestCloseReturnsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	claims := s.Instance()
	b := block(s, claims, s.Coupon(1, 5))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	check.ErrorIs(t, claims.Close(ctx), context.DeadlineExceeded)
	b.lift()
	check.NoError(t, claims.Close(t.Context()))
}
