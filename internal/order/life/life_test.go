package life_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/life"
	"example.com/flashsale/internal/order/ordertest"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.RedisServer) }

const couponID = 1

var threeEach = coupon.Rules{PerUser: 3, Returnable: true}

// instance is one of the service, with what happens after the claim. It has no lock: no
// promise depends on it.
type instance struct {
	*ordertest.Instance
	*life.Orders
	changed map[order.State]*atomic.Int64
}

func open(s *ordertest.Sale, changes ...func(*ordertest.Config)) instance {
	var orders *life.Orders
	changed := map[order.State]*atomic.Int64{order.Used: {}, order.Returned: {}, order.Expired: {}}
	return instance{s.Instance(append(changes, ordertest.WithLocker(lock.None()), func(c *ordertest.Config) {
		orders = life.New(c.Commit.DB, c.Order.Coupons, c.Commit.Outbox,
			func(to order.State, n int) { changed[to].Add(int64(n)) })
	})...), orders, changed}
}

func (i instance) claim(t *testing.T, user int64, number int) order.Order {
	t.Helper()
	o, err := i.Claims.Claim(t.Context(), order.Claimant{UserID: user, Number: number}, couponID)
	if err != nil {
		t.Fatalf("user %d, number %d: %v", user, number, err)
	}
	return o
}

// atOnce calls do n times at once and returns how often it returned each error.
func atOnce(n int, do func(i int) error) map[string]int {
	var mu sync.Mutex
	verdicts := map[string]int{}
	check.AtOnce(n, func(i int) {
		err := do(i)
		verdict := fmt.Sprint(err)
		for _, known := range []error{order.ErrUsed, order.ErrReturned, order.ErrExpired} {
			if errors.Is(err, known) {
				verdict = known.Error()
			}
		}
		mu.Lock()
		defer mu.Unlock()
		verdicts[verdict]++
	})
	return verdicts
}

func mustHold(t *testing.T, s *ordertest.Sale) order.Audit {
	t.Helper()
	a := s.Audit(couponID)
	if a.Oversold()+a.Duplicates()+a.Undersold()+a.Surplus() != 0 {
		t.Errorf("audit %+v", a)
	}
	return a
}

// A user has at most as many orders as the coupon allows, whatever the strategy, and
// without a lock.
func TestUserHasAtMostPerUserOrders(t *testing.T) {
	ordertest.ForEveryStrategy(t, func(s *ordertest.Sale, a, b *ordertest.Instance) {
		s.Ruled(couponID, 100, threeEach)
		for _, i := range []*ordertest.Instance{a, b} {
			if _, err := i.Claims.Claim(s.T.Context(), order.Claimant{UserID: 1, Number: 4}, couponID); !errors.Is(err,
				order.ErrLimitReached) {
				s.T.Errorf("number 4: %v", err)
			}
		}
		for number := range 3 {
			atOnce(10, func(n int) error {
				i := []*ordertest.Instance{a, b}[n%2]
				_, err := i.Claims.Claim(s.T.Context(), order.Claimant{UserID: 1, Number: number + 1}, couponID)
				return err
			})
			ordertest.MustRecover(s.T, a, couponID, order.Claimant{UserID: 1, Number: number + 1})
		}
		if found := mustHold(s.T, s); found.Orders != 3 || found.MostPerUser != 3 || found.Stock != 97 {
			s.T.Errorf("audit %+v", found)
		}
	})
}

// A repeated claim finds its own order, not another of the same user.
func TestRepeatedClaimFindsTheOrderOfItsNumber(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Ruled(couponID, 2, threeEach)
	a, b := open(s), open(s)
	first, second := a.claim(t, 1, 1), a.claim(t, 1, 2) // sold out
	for _, i := range []instance{a, b} {
		for number, want := range map[int]int64{1: first.ID, 2: second.ID} {
			_, err := i.Claims.Claim(t.Context(), order.Claimant{UserID: 1, Number: number}, couponID)
			ordertest.WantOrder(t, err, want)
		}
		if _, err := i.Claims.Claim(t.Context(), order.Claimant{UserID: 1, Number: 3}, couponID); !errors.Is(err,
			coupon.ErrSoldOut) {
			t.Errorf("number 3: %v", err)
		}
	}
}

// Of uses and returns of one order that race, one wins, and the others are told which.
func TestOneTransitionOfAnOrderWins(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Ruled(couponID, 100, threeEach)
	a, b := open(s), open(s)
	for user := range int64(20) {
		o := a.claim(t, user+1, 1)
		verdicts := atOnce(8, func(n int) error {
			i := []instance{a, b}[n%2]
			var err error
			if n < 4 {
				_, err = i.Use(t.Context(), o.ID, 9, fmt.Sprint("till ", n))
			} else {
				_, err = i.Return(t.Context(), o.ID, life.Caller{UserID: o.UserID})
			}
			return err
		})
		used := verdicts["<nil>"] == 1 && verdicts[order.ErrUsed.Error()] == 7
		returned := verdicts["<nil>"] == 4 && verdicts[order.ErrReturned.Error()] == 4
		if !used && !returned {
			t.Errorf("verdicts %v", verdicts)
		}
	}
	mustHold(t, s)
}

// Requests that are repeated get the same reply, also when the reply to COMMIT was lost.
func TestTransitionsMayBeRepeated(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Ruled(couponID, 10, threeEach)
	proxy, through := s.Proxied()
	i := open(s, through)
	used, returned := i.claim(t, 1, 1), i.claim(t, 1, 2)
	for range 2 {
		proxy.Inject(faultproxy.LoseReply, "COMMIT", 1)
		if o, err := i.Use(t.Context(), used.ID, 9, "till 7/4711"); err != nil || o.State != order.Used {
			t.Errorf("use: %+v, %v", o, err)
		}
		proxy.Inject(faultproxy.LoseReply, "COMMIT", 1)
		o, err := i.Return(t.Context(), returned.ID, life.Caller{UserID: 1})
		if err != nil || o.State != order.Returned {
			t.Errorf("return: %+v, %v", o, err)
		}
		proxy.Heal()
	}
	if _, err := i.Use(t.Context(), used.ID, 9, "till 8/1"); !errors.Is(err, order.ErrUsed) {
		t.Errorf("another use: %v", err)
	}
	var by int
	if s.Get(&by, `SELECT 10 * used_by + ended_by FROM coupon_orders, coupon_orders_ended`); by != 91 {
		t.Errorf("%d, want that 9 has used an order, and 1 returned one", by)
	}
	s.Exec(`UPDATE coupon_orders SET used_ref = NULL`) // as an administrator marks it by SQL
	if _, err := i.Use(t.Context(), used.ID, 9, "till 7/4711"); !errors.Is(err, order.ErrUsed) {
		t.Errorf("without a reference: %v", err)
	}
	if a := mustHold(t, s); a.Stock != 9 || a.Used != 1 || a.Returned != 1 {
		t.Errorf("audit %+v", a)
	}
}

// What is read after a change may lag behind it, and the order expire meanwhile. What was done is
// not called refused.
func TestChangeThatIsNotSeenIsNotRefused(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Ruled(couponID, 10, threeEach)
	i := open(s)
	used, returned := i.claim(t, 1, 1), i.claim(t, 1, 2)
	s.Exec(`CREATE TRIGGER use_is_not_seen BEFORE UPDATE ON coupon_orders FOR EACH ROW
		SET NEW.used_at = NULL, NEW.expires_at = NEW.created_at`)
	s.Exec(`CREATE TRIGGER return_is_not_seen AFTER INSERT ON coupon_orders_ended FOR EACH ROW
		INSERT INTO coupon_orders (id, coupon_id, user_id, number, created_at, expires_at)
		VALUES (NEW.id, NEW.coupon_id, NEW.user_id, NEW.number, NEW.created_at, NEW.created_at)`)
	_, err := i.Use(t.Context(), used.ID, 9, "till")
	check.ErrorIs(t, err, order.ErrOutcomeUnknown)
	_, err = i.Return(t.Context(), returned.ID, life.Caller{UserID: 1})
	check.ErrorIs(t, err, order.ErrOutcomeUnknown)
}

// Each shard of Vitess has a primary key of its own. Nobody knows which of two is meant.
func TestOrderWhoseIDAnotherHasIsNotUsed(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Ruled(couponID, 10, threeEach)
	i := open(s)
	o := i.claim(t, 1, 1)
	i.claim(t, 1, 2)
	s.Exec(`ALTER TABLE coupon_orders DROP PRIMARY KEY`)
	s.Exec(`UPDATE coupon_orders SET id = ?`, o.ID)
	if _, err := i.Use(t.Context(), o.ID, 9, "till"); !errors.Is(err, order.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
	if a := s.Audit(couponID); a.Used != 0 || a.Orders != 2 {
		t.Errorf("audit %+v", a)
	}
}

// Another transaction has the row of an order, and changes it before it releases it. A verdict is of what it left, at
// that time: who is told that an order has expired must not see it used later.
func TestChangeOfAnOrderThatWaitsForAnotherIsDecidedAfterIt(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Ruled(couponID, 10, coupon.Rules{PerUser: 1, HoldSeconds: 600, Returnable: true})
	i, db := open(s), labtest.Open(t, s.DSN)
	changes := []func(order.Order) error{
		func(o order.Order) error { _, err := i.Use(t.Context(), o.ID, 9, "till"); return err },
		func(o order.Order) error {
			_, err := i.Return(t.Context(), o.ID, life.Caller{UserID: o.UserID})
			return err
		},
	}
	const expires, used = `expires_at = UTC_TIMESTAMP(3)`, `used_at = created_at`
	for n, test := range []struct {
		before, meanwhile string
		want              error
	}{{`number = 1`, expires, order.ErrExpired}, {expires, used, order.ErrUsed}} {
		for k, change := range changes {
			o := i.claim(t, int64(2*n+k)+1, 1)
			s.Exec(`UPDATE coupon_orders SET `+test.before+` WHERE id = ?`, o.ID)
			tx := db.MustBegin()
			tx.MustExec(`SELECT id FROM coupon_orders WHERE id = ? FOR UPDATE`, o.ID)
			changed := check.Begin(func() error { return change(o) })
			check.Eventually(t, "the change waits", func() bool { return s.Executing("%FOR UPDATE") > 0 })
			tx.MustExec(`UPDATE coupon_orders SET `+test.meanwhile+` WHERE id = ?`, o.ID)
			check.NoError(t, tx.Commit())
			check.ErrorIs(t, <-changed, test.want)
		}
	}
}

// The clock of the database steps back between the read of a hold and that of its order.
func TestHoldOfAnOrderThatIsNotDueIsKept(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Ruled(couponID, 1, coupon.Rules{PerUser: 1, HoldSeconds: 600})
	open(s).claim(t, 1, 1)
	s.Exec(`UPDATE coupon_holds SET expires_at = UTC_TIMESTAMP(3)`)
	sweep := func() (looked *atomic.Bool) {
		i := open(s)
		looked = new(atomic.Bool)
		i.Sweep(func(error) { looked.Store(true) })
		t.Cleanup(i.Orders.Close)
		return looked
	}
	looked := sweep()
	check.Eventually(t, "the hold is looked at", func() (gone bool) {
		s.Get(&gone, `SELECT COUNT(*) = 0 FROM coupon_holds`)
		return gone || looked.Load()
	})
	if s.Audit(couponID).Expired > 0 {
		t.Error("the order has ended before it has expired")
	}
	s.Exec(`UPDATE coupon_orders SET expires_at = UTC_TIMESTAMP(3)`)
	sweep()
	check.Eventually(t, "the order has expired", func() bool { return s.Audit(couponID).Expired == 1 })
}

// Who may return an order, and which.
func TestOnlyReturnableOrdersAreReturned(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Coupon(couponID, 10)
	i := open(s)
	o := i.claim(t, 1, 1)
	for name, test := range map[string]struct {
		by   life.Caller
		want error
	}{
		"its user":     {life.Caller{UserID: 1}, order.ErrNotReturnable},
		"another user": {life.Caller{UserID: 2}, order.ErrNotFound},
	} {
		if _, err := i.Return(t.Context(), o.ID, test.by); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := i.Return(t.Context(), o.ID, life.Caller{UserID: 2, Admin: true}); err != nil {
		t.Errorf("an administrator: %v", err)
	}
	if n := i.changed[order.Returned].Load(); n != 1 {
		t.Errorf("%d orders are counted as returned, want 1", n)
	}
	if _, err := i.Return(t.Context(), o.ID+1, life.Caller{Admin: true}); !errors.Is(err, order.ErrNotFound) {
		t.Errorf("no order: %v", err)
	}
	mustHold(t, s)
}

// What the instance has cached of the coupon is as old as the test.
func TestUnitIsOnSaleAtOnceOrItsOrderIsKept(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Ruled(couponID, 2, threeEach)
	i := open(s, func(c *ordertest.Config) { c.Order.Coupons = coupon.NewCache(s.Coupons, time.Hour) })
	first, second := i.claim(t, 1, 1), i.claim(t, 2, 1)
	ordertest.MustBeSoldOut(t, i.Instance, couponID)
	_, err := i.Return(t.Context(), first.ID, life.Caller{UserID: 1})
	check.NoError(t, err)
	i.claim(t, 3, 1)
	s.Exec(`DELETE FROM coupons`) // nothing can get the next unit
	_, err = i.Return(t.Context(), second.ID, life.Caller{UserID: 2})
	check.ErrorIs(t, err, order.ErrOutcomeUnknown)
	var orders int
	if s.Get(&orders, `SELECT COUNT(*) FROM coupon_orders`); orders != 2 {
		t.Errorf("%d orders count, want 2", orders)
	}
}

// A unit that came back is sold again, to the same user too, and no instance tells a
// winner of an order that has ended, or that there is none of one that counts.
func TestReturnedUnitIsSoldAgain(t *testing.T) {
	t.Parallel()
	for _, segments := range []int{1, 8} {
		t.Run(fmt.Sprint(segments, " segments"), func(t *testing.T) {
			t.Parallel()
			s := ordertest.NewSale(t)
			c, err := s.New(couponID, 20).Split(segments)
			check.NoError(t, err)
			s.Create(c, coupon.Rules{PerUser: 1, Returnable: true})
			a, b := open(s), open(s)
			orders := map[int64]order.Order{}
			for user := range int64(20) {
				orders[user+1] = a.claim(t, user+1, 1)
				_, err := b.Claim(t.Context(), user+1, couponID) // b remembers the order, until it has ended
				ordertest.WantOrder(t, err, orders[user+1].ID)
			}
			for user := range int64(20) {
				for _, i := range []instance{a, b} {
					ordertest.MustBeSoldOut(t, i.Instance, couponID)
				}
				if _, err := a.Return(t.Context(), orders[user+1].ID, life.Caller{UserID: user + 1}); err != nil {
					t.Fatal(err)
				}
				next := 100 + user
				if user%2 == 0 {
					next = user + 1
				}
				check.Eventually(t, "the unit is sold at the other instance", func() bool {
					o, err := b.Claim(t.Context(), next, couponID)
					orders[next] = o
					return err == nil
				})
				for _, i := range []instance{a, b} { // its reply was lost
					_, err := i.Claim(t.Context(), next, couponID)
					ordertest.WantOrder(t, err, orders[next].ID)
				}
			}
			mustHold(t, s)
		})
	}
}

// Orders expire at their time, not before, and their units are on sale soon after. Two
// instances sweep; returns and uses race with them.
func TestOrdersExpireAndAreSoldAgain(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	const stock = 1200 // more than one transaction ends
	s.Ruled(couponID, stock, coupon.Rules{PerUser: 100, HoldSeconds: 10, Returnable: true})
	a, b := open(s), open(s)
	orders := make([]order.Order, stock)
	atOnce(24, func(n int) error {
		for k := range stock / 24 {
			user := int64(n + 1)
			by := order.Claimant{UserID: user, Number: k + 1}
			orders[n*stock/24+k], _ = []instance{a, b}[n%2].Claims.Claim(t.Context(), by, couponID)
			if n+k == 0 {
				if _, err := a.Use(t.Context(), orders[0].ID, 9, "in time"); err != nil {
					t.Error(err)
				}
			}
		}
		return nil
	})
	if found := s.Audit(couponID); found.Orders != stock {
		t.Fatalf("audit %+v", found)
	}
	s.Exec(`UPDATE coupon_holds SET expires_at = expires_at - INTERVAL 8 SECOND`) // as if that time had passed
	s.Exec(`UPDATE coupon_orders SET created_at = created_at - INTERVAL 8 SECOND,
		expires_at = expires_at - INTERVAL 8 SECOND`)
	for _, i := range []instance{a, b} {
		i.Sweep(func(err error) { t.Error(err) })
		t.Cleanup(i.Orders.Close)
	}
	check.Eventually(t, "the second has expired", func() bool {
		o, err := s.Orders.Find(t.Context(), orders[1].ID)
		return err == nil && o.State == order.Expired
	})
	for _, i := range []instance{a, b} {
		if _, err := i.Use(t.Context(), orders[1].ID, 9, "late"); !errors.Is(err, order.ErrExpired) {
			t.Errorf("use too late: %v", err)
		}
		_, err := i.Return(t.Context(), orders[1].ID, life.Caller{UserID: orders[1].UserID})
		check.ErrorIs(t, err, order.ErrExpired)
	}
	check.Eventually(t, "all have expired", func() bool { return s.Audit(couponID).Expired == stock-1 })
	found := mustHold(t, s)
	if found.Orders != 1 || found.Used != 1 || found.Stock != stock-1 {
		t.Errorf("audit %+v", found)
	}
	check.Eventually(t, "each change is counted once", func() bool {
		n := func(s order.State) int64 { return a.changed[s].Load() + b.changed[s].Load() }
		return n(order.Used) == 1 && n(order.Returned) == 0 && n(order.Expired) == stock-1
	})
	var early int
	s.Get(&early, `SELECT COUNT(*) FROM coupon_orders_ended WHERE ended_at < created_at + INTERVAL 10 SECOND`)
	if early != 0 {
		t.Errorf("%d orders ended before their time", early)
	}
	check.Eventually(t, "the holds are gone", func() bool {
		var holds int
		s.Get(&holds, `SELECT COUNT(*) FROM coupon_holds`)
		return holds == 0
	})
	a.claim(t, 1, 2)
}

// Claims, returns and uses at once, at two instances: nothing is lost or made twice.
func TestPromisesHoldWhileOrdersComeBack(t *testing.T) {
	ordertest.ForEveryStrategy(t, func(s *ordertest.Sale, a, b *ordertest.Instance) {
		s.Ruled(couponID, 30, threeEach)
		both := []instance{open(s), open(s)}
		var returns atomic.Int64
		check.Eventually(s.T, "orders come back", func() bool {
			ctx, cancel := context.WithTimeout(s.T.Context(), 2*time.Second)
			defer cancel()
			atOnce(16, func(n int) error {
				for round := 0; ctx.Err() == nil; round++ {
					by := order.Claimant{UserID: int64((n+round)%20 + 1), Number: round%3 + 1}
					o, err := []*ordertest.Instance{a, b}[n%2].Claims.Claim(ctx, by, couponID)
					if err != nil {
						continue
					}
					if _, err := both[n%2].Return(ctx, o.ID, life.Caller{UserID: by.UserID}); err == nil {
						returns.Add(1)
					}
				}
				return nil
			})
			return returns.Load() > 0
		})
		mustHold(s.T, s)
	})
}

// Coupon 2 has more orders that cannot end than are tried at a time. The pool has one
// connection.
func TestOrderThatCannotEndKeepsNoOther(t *testing.T) {
	t.Parallel()
	users := map[int64]int{1: 2, 2: 101, 3: 2}
	for name, kept := range map[string][]string{
		"deleted coupon": {`DELETE FROM coupons WHERE id = 2`},
		"foreign key": {
			`CREATE TABLE shipments (order_id BIGINT PRIMARY KEY, FOREIGN KEY (order_id) REFERENCES coupon_orders (id))`,
			`INSERT INTO shipments SELECT id FROM coupon_orders WHERE coupon_id = 2`,
		},
		"id of an ended order": {`INSERT INTO coupon_orders_ended (id, coupon_id, user_id, number, created_at, ended_at, how)
			SELECT id, 9, 9, 1, created_at, created_at, 'returned' FROM coupon_orders WHERE coupon_id = 2`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ordertest.NewSale(t)
			i := open(s, func(c *ordertest.Config) { c.Commit.DB.SetMaxOpenConns(1) })
			rules := coupon.Rules{PerUser: 1, HoldSeconds: 600}
			for id := int64(1); id <= 3; id++ {
				s.Ruled(id, users[id], rules)
				for user := range users[id] {
					if _, err := i.Claim(t.Context(), int64(user)+1, id); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, statement := range kept {
				s.Exec(statement)
			}
			s.Exec(`UPDATE coupon_orders SET expires_at = UTC_TIMESTAMP(3)`)
			s.Exec(`UPDATE coupon_holds SET expires_at = UTC_TIMESTAMP(3)`)
			failures := make(chan error, 1)
			i.Sweep(func(err error) { failures <- err })
			defer i.Orders.Close()
			check.Eventually(t, "the others have ended", func() (done bool) {
				s.Get(&done, `SELECT COUNT(*) = 0 FROM coupon_orders WHERE coupon_id <> 2`)
				return done
			})
			if err := <-failures; err == nil {
				t.Error("nothing says that some are kept")
			}
			var orders, holds int
			s.Get(&orders, `SELECT COUNT(*) FROM coupon_orders`)
			s.Get(&holds, `SELECT COUNT(*) FROM coupon_holds`)
			if orders != users[2] || holds != users[2] {
				t.Errorf("%d orders and %d holds are kept, want %d", orders, holds, users[2])
			}
		})
	}
}
