package commit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

// A stress test makes two instances process claims of many coupons, some of them
// in segments, at random, while coupons are restocked and locked, claims are cancelled, and requests and
// replies of MySQL are lost.
type stress struct {
	*ordertest.Sale
	db        *sqlx.DB
	instances []*ordertest.Instance
	proxies   []*faultproxy.Proxy

	mu     sync.Mutex
	orders map[order.Order]bool // that a claim has returned, or that a refusal has named
}

const (
	stressCoupons = 30
	stressUsers   = 60
	stressLength  = 2 * time.Second
)

func TestNoPromiseIsBrokenUnderStress(t *testing.T) {
	t.Parallel()
	s := &stress{Sale: ordertest.NewSale(t), orders: map[order.Order]bool{}}
	s.db = labtest.Open(t, s.DSN)
	for id := range int64(stressCoupons) {
		s.Split(id+1, 5, 1+int(id)%4)
	}
	for range 2 {
		proxy, through := s.Proxied()
		s.proxies = append(s.proxies, proxy)
		s.instances = append(s.instances, s.Instance(ordertest.WithLocker(lock.None()), through))
	}
	s.run()
	for _, proxy := range s.proxies {
		proxy.Heal()
	}
	s.sellOut()
	for _, claims := range s.instances {
		if err := claims.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if queues, _ := commit.Queued(claims.Committer); queues != 0 {
			t.Errorf("%d queues are left", queues)
		}
	}
	s.check()
}

// run returns when all that it has started has ended.
func (s *stress) run() {
	ctx, cancel := context.WithTimeout(s.T.Context(), stressLength)
	defer cancel()
	var wg sync.WaitGroup
	repeat := func(action func(context.Context)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				action(ctx)
			}
		})
	}
	for range stressUsers {
		repeat(s.claimAny)
	}
	repeat(s.restockAny)
	repeat(s.lockAny)
	repeat(s.disturbAny)
	wg.Wait()
}

func anyCoupon() int64 { return 1 + rand.Int64N(stressCoupons) }

// claimAny makes a claim. Some have a deadline that ends them on their way.
func (s *stress) claimAny(context.Context) {
	timeout := 5 * time.Second
	if rand.N(5) == 0 {
		timeout = rand.N(50 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(s.T.Context(), timeout)
	defer cancel()
	_ = s.claimOf(ctx, 1+rand.Int64N(10*stressUsers), anyCoupon())
}

// claimOf makes a claim, notes the order that its result names, and returns its
// error.
func (s *stress) claimOf(ctx context.Context, userID, couponID int64) error {
	o, err := s.instances[rand.IntN(2)].Claim(ctx, userID, couponID)
	claimed, duplicate := errors.AsType[*order.AlreadyClaimedError](err)
	switch {
	case err == nil:
		s.note(o.ID, couponID, userID)
	case duplicate:
		s.note(claimed.OrderID, couponID, userID)
	case !errors.Is(err, coupon.ErrSoldOut) && !errors.Is(err, order.ErrUnavailable) &&
		!errors.Is(err, admission.ErrOverloaded):
		s.T.Errorf("user %d, coupon %d: %v", userID, couponID, err)
	}
	return err
}

func (s *stress) note(id, couponID, userID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders[order.Order{ID: id, CouponID: couponID, Claimant: order.Claimant{UserID: userID}}] = true
}

func (s *stress) restockAny(ctx context.Context) {
	_, _ = s.Coupons.Restock(ctx, anyCoupon(), 3, 1)
	time.Sleep(rand.N(20 * time.Millisecond))
}

// lockAny locks a coupon's row, at times for longer than a batch waits for it.
func (s *stress) lockAny(ctx context.Context) {
	tx, err := s.db.BeginTxx(ctx, nil)
	if err != nil {
		return
	}
	defer tx.Rollback()
	_, _ = tx.ExecContext(ctx, `SELECT stock FROM coupons WHERE id = ? FOR UPDATE`, anyCoupon())
	time.Sleep(rand.N(1500 * time.Millisecond))
}

func (s *stress) disturbAny(context.Context) {
	proxy := s.proxies[rand.IntN(2)]
	if rand.N(4) == 0 {
		proxy.Disconnect()
	} else {
		lost := []faultproxy.Fault{faultproxy.LoseRequest, faultproxy.LoseReply}
		proxy.Inject(lost[rand.IntN(len(lost))], commitStatement, 1)
	}
	time.Sleep(rand.N(200 * time.Millisecond))
}

// sellOut sells what is left of each coupon.
func (s *stress) sellOut() {
	var wg sync.WaitGroup
	for couponID := int64(1); couponID <= stressCoupons; couponID++ {
		wg.Go(func() {
			deadline := time.Now().Add(20 * time.Second)
			for user := int64(10_000); s.Audit(couponID).Stock > 0; user++ {
				if err := s.claimOf(s.T.Context(), user, couponID); time.Now().After(deadline) {
					s.T.Errorf("coupon %d is not sold out: %v", couponID, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// check reads the database: each coupon is sold out, and each order that was
// named exists.
func (s *stress) check() {
	for id := int64(1); id <= stressCoupons; id++ {
		a := s.Audit(id)
		if a.Oversold()+a.Duplicates()+a.Undersold() != 0 || a.Stock != 0 || a.Orders != a.InitialStock {
			s.T.Errorf("audit %+v", a)
		}
	}
	for o := range s.orders {
		stored, err := s.Orders.Find(s.T.Context(), o.ID)
		if err != nil || stored.CouponID != o.CouponID || stored.UserID != o.UserID {
			s.T.Errorf("order %+v is stored as %+v: %v", o, stored, err)
		}
	}
	if len(s.orders) < 5*stressCoupons {
		s.T.Errorf("only %d orders were seen", len(s.orders))
	}
}
