package ordertest

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
)

// ForEveryStrategy runs test on two instances of a sale, for each strategy without a lock,
// because the promises must hold without one, and for the shipped one with its lock.
func ForEveryStrategy(t *testing.T, test func(s *Sale, a, b *Instance)) {
	t.Parallel()
	variants := map[string][]func(*Config){"as shipped": nil}
	for _, strategy := range commit.Strategies {
		variants[string(strategy)] = []func(*Config){WithStrategy(strategy), WithLocker(lock.None())}
	}
	for name, changes := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewSale(t)
			test(s, s.Instance(changes...), s.Instance(changes...))
		})
	}
}

// ForStrategies runs test for each strategy, on a sale of its own.
func ForStrategies(t *testing.T, strategies []commit.Strategy, test func(*testing.T, *Sale, commit.Strategy)) {
	t.Parallel()
	for _, strategy := range strategies {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			test(t, NewSale(t), strategy)
		})
	}
}

// concurrent is how many claims of a Rush are in progress: with more, a busy machine needs
// longer for one than the service waits for its servers.
const concurrent = 32

// Rush sends times claims of every user at a time, spread over the instances, and returns how many
// orders they were told of. Errors other than the verdicts of a sale fail the test.
func (s *Sale) Rush(couponID int64, users, times int, instances ...*Instance) int {
	s.T.Helper()
	all := make([]int64, users*times)
	for n := range all {
		all[n] = int64(n/times) + 1
	}
	return s.RushOf(couponID, all, instances...)
}

// RushOf is Rush of users, with one claim for each of them.
func (s *Sale) RushOf(couponID int64, users []int64, instances ...*Instance) int {
	s.T.Helper()
	var orders sync.Map
	var wg sync.WaitGroup
	next := make(chan int)
	for range concurrent {
		wg.Go(func() {
			for n := range next {
				if id := s.claim(instances[n%len(instances)], users[n], couponID); id != 0 {
					orders.Store(id, true)
				}
			}
		})
	}
	for n := range users {
		next <- n
	}
	close(next)
	wg.Wait()
	accepted := 0
	orders.Range(func(any, any) bool { accepted++; return true })
	return accepted
}

// claim returns the id of the order that a claim got, or 0. It repeats a claim that a stall made
// unavailable, as clients do. A refusal by the database is no stall.
func (s *Sale) claim(i *Instance, userID, couponID int64) (orderID int64) {
	s.T.Helper()
	stalled := false
	for deadline := time.Now().Add(time.Minute); ; {
		o, err := i.Claim(s.T.Context(), userID, couponID)
		_, refused := errors.AsType[*mysql.MySQLError](err)
		claimed, again := errors.AsType[*order.AlreadyClaimedError](err)
		switch {
		case err == nil:
			return o.ID
		case again && stalled:
			return claimed.OrderID
		case time.Now().Before(deadline) && !refused && errors.Is(err, order.ErrUnavailable):
			stalled = true
		case time.Now().Before(deadline) && stalled && errors.Is(err, order.ErrClaimInProgress): // the stalled one
		default:
			if !again && !errors.Is(err, coupon.ErrSoldOut) && !errors.Is(err, order.ErrClaimInProgress) {
				s.T.Errorf("claim: %v", err)
			}
			return 0
		}
	}
}

// Claim starts a claim.
func Claim(ctx context.Context, i *Instance, userID, couponID int64) (result <-chan error) {
	return check.Begin(func() error { _, err := i.Claim(ctx, userID, couponID); return err })
}

// Expect checks a claim's result.
func Expect(t *testing.T, name string, result <-chan error, want error) {
	t.Helper()
	if err := check.Receive(t, name, result); !errors.Is(err, want) || (want == nil) != (err == nil) {
		t.Errorf("%s: %v, want %v", name, err, want)
	}
}

// WantClaim checks the error of a claim. Nil is an order.
func WantClaim(t *testing.T, i *Instance, userID, couponID int64, want error) {
	t.Helper()
	if _, err := i.Claim(t.Context(), userID, couponID); !errors.Is(err, want) {
		t.Errorf("claim of user %d: %v, want %v", userID, err, want)
	}
}

// WantOrder checks that err, of a repeated claim, names the order that the claimant has.
func WantOrder(t *testing.T, err error, orderID int64) {
	t.Helper()
	if claimed, ok := errors.AsType[*order.AlreadyClaimedError](err); !ok || claimed.OrderID != orderID {
		t.Errorf("%v, want order %d", err, orderID)
	}
}

// MustBeSoldOut checks that a new user's claim returns coupon.ErrSoldOut, which
// the instance remembers from then on.
func MustBeSoldOut(t *testing.T, i *Instance, couponID int64) {
	t.Helper()
	if _, err := i.Claim(t.Context(), 1000, couponID); !errors.Is(err, coupon.ErrSoldOut) {
		t.Fatalf("got %v, want ErrSoldOut", err)
	}
}

// MustRecover waits until the claimant's order is placed, by this claim or by an
// earlier one.
func MustRecover(t *testing.T, i *Instance, couponID int64, by order.Claimant) {
	t.Helper()
	check.Eventually(t, "the order is placed", func() bool {
		_, err := i.Claims.Claim(t.Context(), by, couponID)
		return err == nil || errors.Is(err, order.ErrAlreadyClaimed)
	})
}

// Block locks a coupon's row until unblock is called or the test ends.
func (s *Sale) Block(couponID int64) (unblock func()) {
	s.T.Helper()
	tx, err := s.db.BeginTxx(context.Background(), nil)
	check.NoError(s.T, err)
	s.T.Cleanup(func() { _ = tx.Rollback() })
	_, err = tx.Exec(`SELECT stock FROM coupons WHERE id = ? FOR UPDATE`, couponID)
	check.NoError(s.T, err)
	return func() {
		s.T.Helper()
		if err := tx.Commit(); err != nil && !errors.Is(err, sql.ErrTxDone) {
			s.T.Fatal(err)
		}
	}
}

// Executing returns how many statements the server executes for the sale whose
// text is like a pattern.
func (s *Sale) Executing(pattern string) int {
	s.T.Helper()
	return labtest.Executing(s.T, s.db, pattern)
}
