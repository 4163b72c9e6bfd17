package order_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
)

// A blockade locks a coupon's row, so that the first batch waits for the row
// and all later claims are queued.
type blockade struct {
	t        *testing.T
	tx       *sqlx.Tx
	claims   *order.Claims
	couponID int64
}

func (s *sale) block(claims *order.Claims, couponID int64) *blockade {
	s.t.Helper()
	tx, err := labtest.Open(s.t, s.dsn).BeginTxx(context.Background(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.Exec(`SELECT stock FROM coupons WHERE id = ? FOR UPDATE`, couponID); err != nil {
		s.t.Fatal(err)
	}
	return &blockade{s.t, tx, claims, couponID}
}

// first starts the claim that becomes the first batch, and returns once that
// batch is being committed.
func (b *blockade) first(userID int64) (result <-chan error) {
	b.t.Helper()
	result = b.start(context.Background(), userID)
	labtest.Eventually(b.t, "the first batch is being committed", func() bool { return order.Committing(b.claims) })
	return result
}

// claim starts a later claim, and returns once it is queued.
func (b *blockade) claim(ctx context.Context, userID int64) (result <-chan error) {
	b.t.Helper()
	before := order.Queued(b.claims)
	result = b.start(ctx, userID)
	labtest.Eventually(b.t, "the claim is queued", func() bool { return order.Queued(b.claims) > before })
	return result
}

func (b *blockade) start(ctx context.Context, userID int64) <-chan error {
	result := make(chan error, 1)
	go func() {
		_, err := b.claims.Claim(ctx, userID, b.couponID)
		result <- err
	}()
	return result
}

// lift unlocks the row.
func (b *blockade) lift() {
	b.t.Helper()
	if err := b.tx.Commit(); err != nil {
		b.t.Fatal(err)
	}
}

// expect checks a claim's result.
func expect(t *testing.T, name string, result <-chan error, want error) {
	t.Helper()
	select {
	case err := <-result:
		if !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: no result within 20 s", name)
	}
}

func TestBatchLargerThanTheStockSellsItToTheFirst(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	b := s.block(s.instance(), s.coupon(1, 4))
	first := b.first(100)
	var results []<-chan error
	for user := int64(9); user > 0; user-- { // the order of arrival is not that of the user ids
		results = append(results, b.claim(t.Context(), user))
	}
	b.lift()
	expect(t, "first batch", first, nil)
	for i, result := range results {
		want := error(nil)
		if i >= 3 {
			want = coupon.ErrSoldOut
		}
		expect(t, fmt.Sprintf("claim %d", i), result, want)
	}
	if a := s.audit(1); a.Orders != 4 || a.Stock != 0 {
		t.Errorf("audit %+v", a)
	}
}

func TestDuplicateInABatchFailsNoOtherClaim(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	claims := s.instance(withLocker(lock.None())) // the user lock would refuse the duplicates
	id := s.coupon(1, 10)
	if _, err := s.instance().Claim(t.Context(), 7, id); err != nil {
		t.Fatal(err)
	}
	b := s.block(claims, id)
	first := b.first(1)
	other := b.claim(t.Context(), 2)
	winner := b.claim(t.Context(), 7)
	twice := []<-chan error{b.claim(t.Context(), 3), b.claim(t.Context(), 3)}
	b.lift()
	expect(t, "first batch", first, nil)
	expect(t, "another user", other, nil)
	expect(t, "user with an order", winner, order.ErrAlreadyClaimed)
	expect(t, "user twice in the batch, 1st claim", twice[0], nil)
	expect(t, "user twice in the batch, 2nd claim", twice[1], order.ErrAlreadyClaimed)
	if a := s.audit(id); a.Orders != 4 || a.Stock != 6 || a.MostPerUser != 1 {
		t.Errorf("audit %+v", a)
	}
}

// If the first of two claims of a user is too late for the stock, its order is
// deleted again, and the second claim must not refer to it.
func TestDuplicateOfALateClaimIsSoldOut(t *testing.T) {
	t.Parallel()
	for _, stock := range []int{1, 2} { // leaves 0 or 1 for the batch
		s := newSale(t)
		b := s.block(s.instance(withLocker(lock.None())), s.coupon(1, stock))
		first := b.first(100)
		if stock == 2 {
			defer expect(t, "last unit", b.claim(t.Context(), 50), nil)
		}
		late := []<-chan error{b.claim(t.Context(), 3), b.claim(t.Context(), 3)}
		b.lift()
		expect(t, "first batch", first, nil)
		expect(t, "late claim", late[0], coupon.ErrSoldOut)
		expect(t, "its duplicate", late[1], coupon.ErrSoldOut)
		if a := s.audit(1); a.Orders != stock || a.Stock != 0 {
			t.Errorf("audit %+v", a)
		}
	}
}

func TestClaimCancelledInTheQueueIsNotCommitted(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	b := s.block(s.instance(), s.coupon(1, 10))
	first := b.first(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancelled, other := b.claim(ctx, 2), b.claim(t.Context(), 3)
	cancel()
	expect(t, "cancelled claim", cancelled, order.ErrUnavailable)
	b.lift()
	expect(t, "first batch", first, nil)
	expect(t, "other claim", other, nil)
	if a := s.audit(1); a.Orders != 2 || a.Stock != 8 {
		t.Errorf("audit %+v", a)
	}
}

// A request that outlives the drain must not begin a transaction on pools that
// are being closed.
func TestClosedClaimsPlaceNoOrder(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	claims, id := s.instance(), s.coupon(1, 5)
	if err := claims.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := claims.Claim(t.Context(), 42, id); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("after Close: %v, want ErrUnavailable", err)
	}
	if a := s.audit(id); a.Orders != 0 || a.Stock != 5 {
		t.Errorf("audit %+v", a)
	}
}

// A server or proxy that refuses multi-statements costs round trips, not
// claims.
func TestClaimsSucceedWithoutMultiStatements(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	claims := s.instance(func(c *order.Config) { c.BatchDB = c.DB })
	id := s.coupon(1, 3)
	for user := range int64(3) {
		if _, err := claims.Claim(t.Context(), user+1, id); err != nil {
			t.Errorf("user %d: %v", user+1, err)
		}
	}
	if a := s.audit(id); a.Orders != 3 || a.Stock != 0 {
		t.Errorf("audit %+v", a)
	}
}

// Another batch has inserted its orders and waits for the stock. This one, which
// has the stock, must not wait for those orders when it deletes its late ones.
func TestLateOrdersAreDeletedBesideOthers(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	s.coupon(1, 2)
	other := labtest.Open(t, s.dsn).MustBegin()
	defer other.Rollback()
	for id := range 20 {
		other.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, 1, ?, NOW())`, id+1, 1000+id)
	}
	claims := s.instance()
	release := order.OccupyCommitters(claims)
	var results []<-chan error
	for user := range int64(10) {
		results = append(results, s.queued(claims, user+1, 1))
	}
	release()
	for user, result := range results {
		want := error(nil)
		if user >= 2 {
			want = coupon.ErrSoldOut
		}
		select {
		case err := <-result:
			if !errors.Is(err, want) {
				t.Errorf("claim %d: %v, want %v", user, err, want)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("the batch waits for the other's orders")
		}
	}
}
