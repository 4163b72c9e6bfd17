package commit_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
	"example.com/flashsale/internal/transaction"
)

func TestBatchLargerThanTheStockSellsItToTheFirst(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	b := block(s, s.Instance(), s.Coupon(1, 4))
	var results []<-chan error
	for user := int64(10); user > 1; user-- { // the order of arrival is not that of the user ids
		results = append(results, b.claim(t.Context(), user))
	}
	b.lift()
	for i, result := range results {
		want := error(nil)
		if i >= 3 {
			want = coupon.ErrSoldOut
		}
		ordertest.Expect(t, fmt.Sprintf("claim %d", i), result, want)
	}
	s.WantSold(1, 4, 0)
}

func TestDuplicateInABatchFailsNoOtherClaim(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	claims := s.Instance(ordertest.WithLocker(lock.None())) // the user lock would refuse the duplicates
	const id = 1
	s.Ruled(id, 10, coupon.Rules{PerUser: 1, HoldSeconds: 600})
	ordertest.WantClaim(t, s.Instance(), 7, id, nil)
	b := block(s, claims, id)
	other := b.claim(t.Context(), 2)
	winner := b.claim(t.Context(), 7)
	twice := []<-chan error{b.claim(t.Context(), 3), b.claim(t.Context(), 3)}
	b.lift()
	ordertest.Expect(t, "another user", other, nil)
	ordertest.Expect(t, "user with an order", winner, order.ErrAlreadyClaimed)
	ordertest.Expect(t, "user twice in the batch, 1st claim", twice[0], nil)
	ordertest.Expect(t, "user twice in the batch, 2nd claim", twice[1], order.ErrAlreadyClaimed)
	var holds int
	s.Get(&holds, `SELECT COUNT(*) FROM coupon_holds`)
	if a := s.Audit(id); a.Orders != 4 || a.Stock != 6 || a.MostPerUser != 1 || holds != 4 {
		t.Errorf("audit %+v, %d orders expire", a, holds)
	}
}

// If the first of two claims of a user is too late for the stock, its order is
// deleted again, and the second claim must not refer to it.
func TestDuplicateOfALateClaimIsSoldOut(t *testing.T) {
	t.Parallel()
	for _, stock := range []int{1, 2} { // leaves 0 or 1 for the batch
		s := ordertest.NewSale(t)
		b := block(s, s.Instance(ordertest.WithLocker(lock.None())), s.Coupon(1, stock))
		if stock == 2 {
			defer ordertest.Expect(t, "last unit", b.claim(t.Context(), 50), nil)
		}
		late := []<-chan error{b.claim(t.Context(), 3), b.claim(t.Context(), 3)}
		b.lift()
		ordertest.Expect(t, "late claim", late[0], coupon.ErrSoldOut)
		ordertest.Expect(t, "its duplicate", late[1], coupon.ErrSoldOut)
		s.WantSold(1, stock, 0)
	}
}

// A proxy has sent the read of the stock to another server than the UPDATE.
func TestStockThatIsReadElsewhereIsNotSold(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	id := s.Coupon(1, 5)
	s.Exec(`CREATE TRIGGER elsewhere BEFORE UPDATE ON coupons FOR EACH ROW SET NEW.stock = OLD.stock`)
	ordertest.WantClaim(t, s.Instance(), 42, id, order.ErrUnavailable)
	s.WantSold(id, 0, 5)
}

// A request that outlives the drain must not begin a transaction on pools that
// are being closed.
func TestClosedClaimsPlaceNoOrder(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	claims, id := s.Instance(), s.Coupon(1, 5)
	check.NoError(t, claims.Close(t.Context()))
	ordertest.WantClaim(t, claims, 42, id, order.ErrUnavailable)
	s.WantSold(id, 0, 5)
}

// Another batch has inserted its orders and waits for the stock. This one, which
// has the stock, must not wait for those orders when it deletes its late ones.
func TestLateOrdersAreDeletedBesideOthers(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Coupon(1, 2)
	other := labtest.Open(t, s.DSN).MustBegin()
	defer other.Rollback()
	for id := range 20 {
		other.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, 1, ?, NOW())`,
			id+1, 1000+id)
	}
	claims := s.Instance()
	release := commit.OccupyWorkers(claims.Committer)
	var results []<-chan error
	for user := range int64(10) {
		results = append(results, queued(t, t.Context(), claims, user+1, 1))
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

// The other orders of the batch are placed.
func TestRuleOfAnAdministratorRefusesNoOtherOrder(t *testing.T) {
	t.Parallel()
	const users, allowed, stock = 30, 20, 25
	const alter = `ALTER TABLE coupon_orders `
	for name, rule := range map[string]string{
		"foreign key":  alter + `ADD FOREIGN KEY (user_id) REFERENCES customers (id)`,
		"check":        alter + `ADD CHECK (user_id <= 20)`,
		"out of range": alter + `ADD x TINYINT AS (user_id + 107) STORED`,
		"too short":    alter + `ADD x CHAR AS (IF(user_id <= 20, 'a', 'ab')) STORED`,
		"trigger": `CREATE TRIGGER t BEFORE INSERT ON coupon_orders FOR EACH ROW
			IF NEW.user_id > 20 THEN SIGNAL SQLSTATE '45000'; END IF`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ordertest.NewSale(t)
			s.Coupon(1, stock)
			s.Exec(`CREATE TABLE customers (id BIGINT NOT NULL PRIMARY KEY)`)
			for user := range allowed {
				s.Exec(`INSERT INTO customers VALUES (?)`, user+1)
			}
			s.Exec(rule)
			b := block(s, s.Instance(), 1)
			var results []<-chan error
			for user := int64(2); user <= users; user++ {
				results = append(results, b.claim(t.Context(), user))
			}
			b.lift()
			for i, result := range results {
				if user := i + 2; user <= allowed {
					ordertest.Expect(t, fmt.Sprint("user ", user), result, nil)
				} else if err := <-result; !transaction.IsOfRow(err) || errors.Is(err, transaction.ErrUnknown) {
					t.Errorf("user %d: %v, want the refusal of the server", user, err)
				}
			}
			s.WantSold(1, allowed, stock-allowed)
		})
	}
}
