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

// A jam holds a coupon's row, so that the first batch waits for it and all
// later claims gather behind.
type jam struct {
	t  *testing.T
	tx *sqlx.Tx
	in *order.Claims
	id int64
}

func (s *sale) jam(in *order.Claims, couponID int64) *jam {
	s.t.Helper()
	tx, err := labtest.Open(s.t, s.dsn).BeginTxx(context.Background(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.Exec(`SELECT stock FROM coupons WHERE id = ? FOR UPDATE`, couponID); err != nil {
		s.t.Fatal(err)
	}
	return &jam{s.t, tx, in, couponID}
}

// claim starts a claim and returns when it waits; its answer comes later.
func (j *jam) claim(ctx context.Context, userID int64) <-chan error {
	j.t.Helper()
	before := order.Queued(j.in)
	answer := make(chan error, 1)
	go func() {
		_, err := j.in.Claim(ctx, userID, j.id)
		answer <- err
	}()
	for deadline := time.Now().Add(10 * time.Second); order.Queued(j.in) == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			j.t.Fatalf("the claim of user %d does not wait", userID)
		}
	}
	return answer
}

func (j *jam) clear() {
	j.t.Helper()
	if err := j.tx.Commit(); err != nil {
		j.t.Fatal(err)
	}
}

// lead is the first claim: it is taken into a transaction, not queued.
func (j *jam) lead(userID int64) <-chan error {
	answer := make(chan error, 1)
	go func() {
		_, err := j.in.Claim(context.Background(), userID, j.id)
		answer <- err
	}()
	for deadline := time.Now().Add(10 * time.Second); !order.Committing(j.in); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			j.t.Fatal("the first claim is not served")
		}
	}
	return answer
}

func want(t *testing.T, what string, answer <-chan error, verdict error) {
	t.Helper()
	select {
	case err := <-answer:
		if !errors.Is(err, verdict) || (verdict == nil) != (err == nil) {
			t.Errorf("%s: %v, want %v", what, err, verdict)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: no answer", what)
	}
}

func TestBatchBeyondTheStockSellsTheRestToTheFirst(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	in := s.instance()
	j := s.jam(in, s.coupon(1, 4))
	lead := j.lead(100)
	var answers []<-chan error
	for user := int64(9); user > 0; user-- { // not in the order of the user ids
		answers = append(answers, j.claim(t.Context(), user))
	}
	j.clear()
	want(t, "lead", lead, nil)
	for i, answer := range answers {
		verdict := error(nil)
		if i >= 3 {
			verdict = coupon.ErrSoldOut
		}
		want(t, fmt.Sprintf("claim %d", i), answer, verdict)
	}
	if a := s.audit(1); a.Orders != 4 || a.Stock != 0 {
		t.Errorf("audit %+v", a)
	}
}

func TestDuplicateInABatchCostsNobodyElse(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	in := s.instance(without(lock.None())) // the per-user lock would keep them out
	id := s.coupon(1, 10)
	if _, err := s.instance().Claim(t.Context(), 7, id); err != nil {
		t.Fatal(err)
	}
	j := s.jam(in, id)
	lead := j.lead(1)
	other := j.claim(t.Context(), 2)
	again := j.claim(t.Context(), 7)
	twice := []<-chan error{j.claim(t.Context(), 3), j.claim(t.Context(), 3)}
	j.clear()
	want(t, "lead", lead, nil)
	want(t, "other", other, nil)
	want(t, "again", again, order.ErrAlreadyClaimed)
	want(t, "once", twice[0], nil)
	want(t, "twice", twice[1], order.ErrAlreadyClaimed)
	if a := s.audit(id); a.Orders != 4 || a.Stock != 6 || a.MostPerUser != 1 {
		t.Errorf("audit %+v", a)
	}
}

// A user twice in a batch whose first claim comes too late must not be told of
// an order that was taken back.
func TestDuplicateOfALateClaimIsSoldOut(t *testing.T) {
	t.Parallel()
	for _, stock := range []int{1, 2} { // nothing left for the batch, or one
		s := newSale(t)
		in := s.instance(without(lock.None()))
		j := s.jam(in, s.coupon(1, stock))
		lead := j.lead(100)
		if stock == 2 {
			defer want(t, "second", j.claim(t.Context(), 50), nil)
		}
		late := []<-chan error{j.claim(t.Context(), 3), j.claim(t.Context(), 3)}
		j.clear()
		want(t, "lead", lead, nil)
		want(t, "late", late[0], coupon.ErrSoldOut)
		want(t, "late again", late[1], coupon.ErrSoldOut)
		if a := s.audit(1); a.Orders != stock || a.Stock != 0 {
			t.Errorf("audit %+v", a)
		}
	}
}

func TestClaimWhoseCallerLeftBeforeItsTurnIsNotMade(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	in := s.instance()
	j := s.jam(in, s.coupon(1, 10))
	lead := j.lead(1)
	ctx, leave := context.WithCancel(t.Context())
	left, stayed := j.claim(ctx, 2), j.claim(t.Context(), 3)
	leave()
	want(t, "left", left, order.ErrUnavailable)
	j.clear()
	want(t, "lead", lead, nil)
	want(t, "stayed", stayed, nil)
	if a := s.audit(1); a.Orders != 2 || a.Stock != 8 {
		t.Errorf("audit %+v", a)
	}
}

// Whoever lost the answer finds it, at either instance, also when all is sold.
func TestWinnerIsRecognisedAfterTheSale(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	a, b := s.instance(), s.instance()
	id := s.coupon(1, 2)
	won, err := a.Claim(t.Context(), 42, id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(t.Context(), 43, id); err != nil {
		t.Fatal(err)
	}
	mustSell(t, a, id)
	mustSell(t, b, id)
	for _, in := range []*order.Claims{a, b} {
		_, err := in.Claim(t.Context(), 42, id)
		if again, ok := errors.AsType[*order.AlreadyClaimedError](err); !ok || again.OrderID != won.ID {
			t.Errorf("the winner is told %v, want order %d", err, won.ID)
		}
		if _, err := in.Claim(t.Context(), 99, id); !errors.Is(err, coupon.ErrSoldOut) {
			t.Errorf("another is told %v", err)
		}
	}
}

// mustSell wants in to know that the coupon is sold out.
func mustSell(t *testing.T, in *order.Claims, couponID int64) {
	t.Helper()
	if _, err := in.Claim(t.Context(), 1000, couponID); !errors.Is(err, coupon.ErrSoldOut) {
		t.Fatalf("got %v, want sold out", err)
	}
}

// A batch that found no stock may say so only after the restock has been seen.
func TestLateWordOfSoldOutHidesNoOwner(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	cache := coupon.NewCache(s.coupons, time.Hour)
	a, b := s.instance(), s.instance(func(c *order.Config) { c.Coupons = cache })
	id := s.coupon(1, 2)
	if _, err := a.Claim(t.Context(), 1, id); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.Find(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	cache.SoldOut(id)
	mustSell(t, b, id)
	if _, err := a.Claim(t.Context(), 2, id); err != nil {
		t.Fatal(err)
	}
	mustSell(t, b, id)
	if _, err := b.Claim(t.Context(), 2, id); !errors.Is(err, order.ErrAlreadyClaimed) {
		t.Errorf("the last owner is told %v", err)
	}
}

func TestRestockIsSold(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	a, b := s.instance(), s.instance()
	id := s.coupon(1, 1)
	if _, err := a.Claim(t.Context(), 1, id); err != nil {
		t.Fatal(err)
	}
	mustSell(t, a, id)
	mustSell(t, b, id)
	if _, err := s.coupons.Restock(t.Context(), id, 1); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); ; { // the mark lasts for the cache's 50 ms
		_, err := b.Claim(t.Context(), 2, id)
		if err == nil {
			break
		}
		if !errors.Is(err, coupon.ErrSoldOut) || time.Now().After(deadline) {
			t.Fatalf("after the restock: %v", err)
		}
	}
	mustSell(t, a, id)
	if _, err := a.Claim(t.Context(), 2, id); !errors.Is(err, order.ErrAlreadyClaimed) {
		t.Errorf("the restock's owner at the other instance: %v", err)
	}
}

// A request that outlived the drain must not begin a transaction on pools that
// are being closed.
func TestNothingIsClaimedAfterClose(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	in, id := s.instance(), s.coupon(1, 5)
	in.Close()
	if _, err := in.Claim(t.Context(), 42, id); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("after Close: %v, want ErrUnavailable", err)
	}
	if a := s.audit(id); a.Orders != 0 || a.Stock != 5 {
		t.Errorf("audit %+v", a)
	}
}

// A server, or a proxy, that takes one statement at a time costs round trips,
// and no claim.
func TestServerThatTakesOneStatementAtATimeIsServed(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	in := s.instance(func(c *order.Config) { c.BatchDB = c.DB })
	id := s.coupon(1, 3)
	for user := range int64(3) {
		if _, err := in.Claim(t.Context(), user+1, id); err != nil {
			t.Errorf("user %d: %v", user+1, err)
		}
	}
	if a := s.audit(id); a.Orders != 3 || a.Stock != 0 {
		t.Errorf("audit %+v", a)
	}
}
