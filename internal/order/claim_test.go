package order_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/order"
)

const userLock = "redis_lock:userId:42"

func TestVerdictsComeInTheArticlesOrder(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	claims := s.instance()
	open := func(id int64, from, to time.Duration, stock int) {
		now := time.Now()
		c, err := coupon.New(id, "a coupon", now.Add(from), now.Add(to), stock, now)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.coupons.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	open(1, -time.Hour, time.Hour, 5)
	open(2, time.Hour, 2*time.Hour, 0)
	open(3, -2*time.Hour, -time.Hour, 0)
	open(4, -time.Hour, time.Hour, 0)
	made, err := claims.Claim(t.Context(), 42, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name   string
		coupon int64
		want   error
	}{
		{"unknown", 9, coupon.ErrNotFound},
		{"not begun, and without stock", 2, coupon.ErrNotStarted},
		{"over, and without stock", 3, coupon.ErrEnded},
		{"without stock", 4, coupon.ErrSoldOut},
		{"again", 1, order.ErrAlreadyClaimed},
	} {
		if _, err := claims.Claim(t.Context(), 42, step.coupon); !errors.Is(err, step.want) || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", step.name, err, step.want)
		}
		if n := labtest.Dial(t, s.redis).Exists(t.Context(), userLock).Val(); n != 0 {
			t.Errorf("%s: left the lock behind", step.name)
		}
	}
	_, err = claims.Claim(t.Context(), 42, 1)
	if again, ok := errors.AsType[*order.AlreadyClaimedError](err); !ok || again.OrderID != made.ID {
		t.Errorf("again: %v, want order %d", err, made.ID)
	}
}

func TestOrderIsReadBackAsItWasMade(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	claims := s.instance()
	var want []order.Order
	for id := int64(1); id <= 3; id++ {
		o, err := claims.Claim(t.Context(), 42, s.coupon(id, 5))
		if err != nil {
			t.Fatal(err)
		}
		want = append([]order.Order{o}, want...)
		got, err := s.orders.Find(t.Context(), o.ID)
		if err != nil || got != o {
			t.Errorf("found %+v, %v; want %+v", got, err, o)
		}
	}
	page, err := s.orders.ListByUser(t.Context(), 42, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := s.orders.ListByUser(t.Context(), 42, page[1].ID, 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, append(page, rest...)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.orders.Find(t.Context(), 1); !errors.Is(err, order.ErrNotFound) {
		t.Errorf("unknown order: %v", err)
	}
	if _, err := s.orders.Audit(t.Context(), 99); !errors.Is(err, coupon.ErrNotFound) {
		t.Errorf("audit of an unknown coupon: %v", err)
	}
}

func TestSecondClaimOfAUserIsInProgress(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	claims, id := s.instance(), s.coupon(1, 5)
	lease, err := redislock.New(labtest.Dial(t, s.redis)).TryLock(t.Context(), userLock, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claims.Claim(t.Context(), 42, id); !errors.Is(err, order.ErrClaimInProgress) {
		t.Errorf("while the first runs: %v", err)
	}
	if _, err := claims.Claim(t.Context(), 43, id); err != nil {
		t.Errorf("another user meanwhile: %v", err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err) // the refused claim let go of somebody else's lock
	}
	if _, err := claims.Claim(t.Context(), 42, id); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestWithoutRedisNothingIsClaimed(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	claims, id := s.instance(), s.coupon(1, 5)
	s.redis.Pause() // it accepts connections and says nothing
	mustBeUnavailable(t, claims, id, 42)
	s.redis.Resume()
	mustRecover(t, claims, id, 42)
}

func TestWithoutMySQLNothingIsClaimed(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	server := labtest.MySQL(t)
	s.dsn = labtest.EmptyDatabase(t, server)
	db := labtest.Open(t, s.dsn)
	labtest.Migrate(t, db)
	s.coupons, s.orders = coupon.NewStore(db), order.NewStore(db)
	claims, id := s.instance(), s.coupon(1, 5)
	if _, err := claims.Claim(t.Context(), 1, id); err != nil {
		t.Fatal(err)
	}
	server.Pause()
	mustBeUnavailable(t, claims, id, 42)
	server.Resume()
	mustRecover(t, claims, id, 42)
	server.Kill()
	mustBeUnavailable(t, claims, id, 43)
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	mustRecover(t, claims, id, 43)
	if a := s.audit(id); a.Orders != 3 || a.Stock != 2 {
		t.Errorf("audit %+v, want the orders of three users", a)
	}
}

// mustBeUnavailable wants ErrUnavailable soon after the claim's deadline, and
// from a user whose claim may be made after all.
func mustBeUnavailable(t *testing.T, claims *order.Claims, couponID, userID int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := claims.Claim(ctx, userID, couponID)
	if !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("took %s, with 500 ms to go", took)
	}
}

// mustRecover wants the user's claim to be made, now or by the one before.
func mustRecover(t *testing.T, claims *order.Claims, couponID, userID int64) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; {
		_, err := claims.Claim(t.Context(), userID, couponID)
		if err == nil || errors.Is(err, order.ErrAlreadyClaimed) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %v", err)
		}
	}
}

func TestHangUpLeavesNoLock(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	claims, id := s.instance(), s.coupon(1, 1000)
	rdb := labtest.Dial(t, s.redis)
	for i := range 50 { // the client hangs up at any moment of the claim
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*50*time.Microsecond)
		_, _ = claims.Claim(ctx, 42, id)
		cancel()
		for deadline := time.Now().Add(5 * time.Second); rdb.Exists(t.Context(), userLock).Val() != 0; {
			if time.Now().After(deadline) {
				t.Fatalf("hang-up %d left the lock behind", i)
			}
		}
	}
	if a := s.audit(id); a.Orders > 1 || a.Undersold() != 0 {
		t.Errorf("audit %+v", a)
	}
}
