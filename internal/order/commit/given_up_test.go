package commit_test

import (
	"context"
	"errors"
	"testing"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

// A deadline is that of a context. It is over when the test says so, however slow the machine is.
type deadline struct {
	context.Context
	over chan struct{}
}

func newDeadline(t *testing.T) deadline { return deadline{t.Context(), make(chan struct{})} }

func (d deadline) pass()                 { close(d.over) }
func (d deadline) Done() <-chan struct{} { return d.over }

func (d deadline) Err() error {
	select {
	case <-d.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// The server drops the statements of claims that have given up: otherwise they
// would occupy its connections for as long as the row is locked.
func TestClaimsThatGiveUpLeaveTheServer(t *testing.T) {
	strategies := []commit.Strategy{commit.PerClaim, commit.GroupCommit}
	ordertest.ForStrategies(t, strategies, func(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
		claims := s.Instance(ordertest.WithStrategy(strategy))
		id := s.Coupon(1, 100)
		s.Block(id)
		ctx, cancel := context.WithCancel(t.Context())
		var results []<-chan error
		for user := range int64(40) {
			results = append(results, ordertest.Claim(ctx, claims, user+1, id))
		}
		check.Eventually(t, "claims wait for the row",
			func() bool { return s.Executing("%UPDATE coupons%") > 0 })
		cancel()
		for _, result := range results {
			ordertest.Expect(t, "cancelled claim", result, order.ErrUnavailable)
		}
		check.Eventually(t, "no statement waits for the row",
			func() bool { return s.Executing("%UPDATE coupons%") == 0 })
	})
}

// The claims that give up while their coupon is stuck leave its queue, and are not committed.
func TestQueueHoldsNoClaimThatHasGivenUp(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	b := block(s, s.Instance(), s.Coupon(1, 1000))
	other := b.claim(t.Context(), 2)
	for user := int64(3); user < 50; user++ {
		ctx, cancel := context.WithCancel(t.Context())
		given := b.claim(ctx, user)
		cancel()
		ordertest.Expect(t, "cancelled claim", given, order.ErrUnavailable)
	}
	if _, orders := commit.Queued(b.claims.Committer); orders != 1 {
		t.Errorf("%d claims are queued, want that of user 2", orders)
	}
	b.lift()
	ordertest.Expect(t, "the claim of user 2", other, nil)
	s.WantSold(1, 2, 998)
}

// Claims that no batch has taken until their deadline have sent nothing, either.
func TestClaimsThatOnlyWaitedForABatchAreOverloaded(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	b := block(s, s.Instance(), s.Coupon(1, 100))
	d := newDeadline(t)
	var results []<-chan error
	for user := range int64(10) {
		results = append(results, b.claim(d, user+2))
	}
	d.pass()
	for _, result := range results {
		if err := <-result; !errors.Is(err, admission.ErrOverloaded) || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("a queued claim: %v, want it to be overloaded", err)
		}
	}
	b.lift()
	s.WantSold(1, 1, 99)
}

// Claims that got no connection until their deadline have sent nothing: their
// outcome is known, unlike that of those whose statement waits for the row.
func TestClaimsThatOnlyWaitedForAConnectionAreOverloaded(t *testing.T) {
	strategies := []commit.Strategy{commit.PerClaim, commit.Optimistic, commit.Pessimistic}
	ordertest.ForStrategies(t, strategies, func(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
		claims := s.Instance(ordertest.WithStrategy(strategy))
		id := s.Coupon(1, 100)
		unblock := s.Block(id)
		d := newDeadline(t)
		var results []<-chan error
		for user := range int64(40) {
			results = append(results, ordertest.Claim(d, claims, user+1, id))
		}
		check.Eventually(t, "all are at the pool", func() bool { return commit.AtPool(claims.Committer) == 40 })
		d.pass()
		overloaded := 0
		for _, result := range results {
			switch err := <-result; {
			case errors.Is(err, admission.ErrOverloaded) && !errors.Is(err, order.ErrUnavailable):
				overloaded++
			case !errors.Is(err, order.ErrUnavailable):
				t.Errorf("a claim of a coupon whose row is locked: %v", err)
			}
		}
		if overloaded == 0 || overloaded == len(results) {
			t.Errorf("%d of %d claims are overloaded; some had a connection, the others had none",
				overloaded, len(results))
		}
		unblock()
		if orders := s.Audit(id).Orders; orders > len(results)-overloaded {
			t.Errorf("%d orders, though %d claims have sent nothing", orders, overloaded)
		}
	})
}
