package rig

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/internal/check"
)

func TestTotalCountsEachCouponForItself(t *testing.T) {
	t.Parallel()
	oversold := Account{InitialStock: 10, Stock: -2, Orders: 12, Users: 12}
	duplicate := Account{InitialStock: 10, Stock: 4, Orders: 6, Users: 5, Duplicates: 1} // and unsold
	fewUsers := Account{InitialStock: 10, Stock: 7, Orders: 3, Users: 3}
	vanished := Account{InitialStock: 10, Stock: 0, Orders: 9, Users: 9} // a unit left without an order
	unpaid := Account{InitialStock: 10, Stock: 2, Orders: 9, Users: 9}   // an order took no unit
	for name, c := range map[string]struct {
		accounts []Account
		claiming int
		want     Totals
	}{
		"oversold":         {[]Account{oversold}, 20, Totals{Orders: 12, DistinctUsers: 12, Oversold: 2}},
		"duplicate":        {[]Account{duplicate}, 20, Totals{Orders: 6, DistinctUsers: 5, Duplicates: 1, Unsold: 4}},
		"fewer than stock": {[]Account{fewUsers}, 3, Totals{Orders: 3, DistinctUsers: 3}},
		"more than users":  {[]Account{fewUsers}, 4, Totals{Orders: 3, DistinctUsers: 3, Unsold: 1}},
		"vanished": {[]Account{vanished}, 20,
			Totals{Orders: 9, DistinctUsers: 9, Undersold: 1, Unbalanced: 1}},
		"unpaid": {[]Account{unpaid}, 20, Totals{Orders: 9, DistinctUsers: 9, Unsold: 2, Surplus: 1}},
		"all": {[]Account{oversold, duplicate, fewUsers, vanished}, 3, Totals{
			Orders: 30, DistinctUsers: 12, Oversold: 2, Duplicates: 1, Undersold: 1, Unbalanced: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, Total(c.accounts, c.claiming)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAccountBreaksThePromiseThatItsNumbersBreak(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]Account{
		"":               {InitialStock: 10, Stock: 4, Orders: 6, Users: 6},
		"I1: oversold":   {InitialStock: 10, Stock: -2, Orders: 12, Users: 12},
		"I1":             {InitialStock: 10, Stock: -1, Orders: 11, Users: 11},
		"I2: more than":  {InitialStock: 10, Stock: 4, Orders: 6, Users: 5, Duplicates: 1},
		"I3: stock and":  {InitialStock: 10, Stock: 0, Orders: 9, Users: 9},
		"I3: stock and ": {InitialStock: 10, Stock: 2, Orders: 9, Users: 9}, // an order took no unit
	} {
		broken := Broken(a, Account{})
		if want == "" && len(broken) > 0 || want != "" && (len(broken) != 1 || !strings.HasPrefix(broken[0], want)) {
			t.Errorf("%+v: %q, want %q", a, broken, want)
		}
	}
}

// addOrders inserts orders without taking them from the stock.
func addOrders(sale *Sale, coupon int64, n int) {
	for i := range n {
		sale.DB.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at)
			VALUES (?, ?, ?, UTC_TIMESTAMP(3))`, coupon<<32+int64(i)+1, coupon, UserID(i))
	}
}

func TestMissingOrdersAreThoseWithoutAnOrderOfTheirOwn(t *testing.T) {
	t.Parallel()
	sale := newSale(t)
	coupon, err := sale.AddCoupon(t.Context(), 3)
	check.NoError(t, err)
	addOrders(sale, coupon, 2)
	sale.DB.MustExec(`INSERT INTO coupon_orders_ended (id, coupon_id, user_id, number, created_at, ended_at, how)
		VALUES (5, ?, 7, 2, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 'returned')`, coupon)
	first, second := Claim{User: UserID(0), Coupon: coupon, Order: "4294967297"}, Claim{Order: "4294967298"}
	ended, otherNumber := Claim{User: 7, Number: 2, Order: "5"}, Claim{User: 7, Number: 1, Order: "5"}
	notThere, noID := Claim{Order: "9"}, Claim{}
	anothers := Claim{User: UserID(1), Coupon: coupon, Order: first.Order}
	otherCoupon := Claim{User: UserID(1), Coupon: 7, Order: second.Order}
	userOnly, anothersUser := Claim{User: UserID(0), Order: first.Order}, Claim{User: UserID(1), Order: first.Order}
	for name, c := range map[string]struct{ told, want []Claim }{
		"both there":                 {[]Claim{first, second}, nil},
		"one order for two":          {[]Claim{second, first, second}, []Claim{second}},
		"not there":                  {[]Claim{first, notThere, noID}, []Claim{notThere, noID}},
		"the order of another":       {[]Claim{anothers}, []Claim{anothers}},
		"an order of another coupon": {[]Claim{otherCoupon}, []Claim{otherCoupon}},
		"of a user, any coupon":      {[]Claim{userOnly}, nil},
		"an order that has ended":    {[]Claim{ended}, nil},
		"of another number":          {[]Claim{otherNumber}, []Claim{otherNumber}},
		"of another, any coupon":     {[]Claim{anothersUser}, []Claim{anothersUser}},
	} {
		if got, err := sale.Missing(t.Context(), c.told); err != nil || cmp.Diff(c.want, got) != "" {
			t.Errorf("%s: %v, %s", name, err, cmp.Diff(c.want, got))
		}
	}
}

func TestAuditReadsTheDatabase(t *testing.T) {
	t.Parallel()
	sale := newSale(t)
	for _, stock := range []int{3, 5} {
		if _, err := sale.AddCoupon(t.Context(), stock); err != nil {
			t.Fatal(err)
		}
	}
	addOrders(sale, 2, 4)
	w := Workload{Users: 2, Each: 1, Rounds: 2}
	got, err := sale.Audit(t.Context(), w, []Claim{{Order: "8589934593"}, {Order: "7"}})
	check.NoError(t, err)
	want := Totals{Orders: 4, DistinctUsers: 4, Surplus: 4, Unsold: 2, AckedMissing: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	accounts, err := sale.Accounts(t.Context(), 2)
	if diff := cmp.Diff([]Account{{CouponID: 2, InitialStock: 5, Stock: 5, Orders: 4, Users: 4}},
		accounts); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := sale.Audit(t.Context(), w.Times(3), nil); err == nil || !strings.Contains(err.Error(), "2 coupons") {
		t.Errorf("the audit of a missing coupon: %v", err)
	}
}

// A user may have as many orders as the coupon allows, and no more than the user asks for.
func TestAuditCountsOrdersBeyondTheLimit(t *testing.T) {
	t.Parallel()
	sale := newSale(t, "GUARDS_OFF=unique")
	if _, err := sale.AddCoupon(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	sale.DB.MustExec("INSERT INTO coupon_rules (coupon_id, per_user, hold_seconds, returnable) VALUES (1, 3, 0, FALSE)")
	for i := range 5 { // user 1 has four, user 2 one
		sale.DB.MustExec("INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, 1, ?, NOW())", i+1, 1+i/4)
	}
	for each, want := range map[int]Totals{1: {Duplicates: 3}, 7: {Duplicates: 1, Unsold: 2}} {
		want.Orders, want.DistinctUsers, want.Surplus = 5, 2, 5
		w := Workload{Users: 2, Each: each, Limit: 3, Rounds: 1}
		if got, err := sale.Audit(t.Context(), w, nil); err != nil || got != want {
			t.Errorf("%d each: %+v, %v, want %+v", each, got, err, want)
		}
	}
}

// Until an order's hold is over, and its unit back, an audit cannot see that unit come back twice.
func TestSaleWaitsForHolds(t *testing.T) {
	t.Parallel()
	sale := newSale(t)
	for i, end := range []string{"NULL", "NOW(3) + INTERVAL 1 DAY", "NOW(3) - INTERVAL 1 DAY"} {
		sale.DB.MustExec("INSERT INTO coupon_orders (id, coupon_id, user_id, created_at, expires_at) "+
			"VALUES (?, 1, ?, NOW(), "+end+")", i+1, i+1)
	}
	sale.DB.MustExec("INSERT INTO coupon_orders (id, coupon_id, user_id, created_at, expires_at, used_at) " +
		"VALUES (4, 1, 4, NOW(), NOW(), NOW())")
	left, err := sale.AwaitExpiry(t.Context(), 0)
	if left != 2 || err != nil {
		t.Errorf("%d, %v, want 2 orders with a hold", left, err)
	}
	var all sync.WaitGroup
	all.Go(func() { left, err = sale.AwaitExpiry(t.Context(), time.Minute) })
	sale.DB.MustExec("DELETE FROM coupon_orders WHERE id IN (2, 3)")
	all.Wait()
	if left != 0 || err != nil {
		t.Errorf("%d, %v, want none left", left, err)
	}
}
