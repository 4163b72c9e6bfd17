package rig

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"
)

// An Account is one coupon's stock and orders at one instant.
//
// The service's package order computes the same for its API. The rig does not
// use that package: an audit by the code under test would prove less.
type Account struct {
	CouponID     int64 `db:"id" json:"coupon_id,string"`
	InitialStock int   `db:"initial_stock" json:"initial_stock"`
	Stock        int   `db:"stock" json:"stock"` // left
	Orders       int   `db:"orders" json:"orders"`
	Users        int   `db:"users" json:"distinct_users"` // with at least one order
	// Duplicates are the orders of users beyond those that each may have: I2 is broken.
	Duplicates int `db:"duplicates" json:"duplicates"`
}

// StockColumn is the stock of a row c of table coupons in all its segments and under way
// between them.
const StockColumn = `c.stock + (SELECT COALESCE(SUM(s.stock), 0) FROM coupon_segments s WHERE s.coupon_id = c.id)
	+ (SELECT COALESCE(SUM(t.units), 0) FROM coupon_transfers t WHERE t.coupon_id = c.id) AS stock`

// Stock returns the stock that a coupon has left.
func (s *Sale) Stock(ctx context.Context, coupon int64) (n int, err error) {
	return n, s.DB.GetContext(ctx, &n, `SELECT `+StockColumn+` FROM coupons c WHERE c.id = ?`, coupon)
}

// Accounts returns the accounts of the named coupons, or of all coupons if none
// is named. One statement reads them all at one instant.
func (s *Sale) Accounts(ctx context.Context, coupons ...int64) ([]Account, error) {
	return s.accounts(ctx, math.MaxInt32, coupons...)
}

// accounts is Accounts of users who may have so many orders at most, whatever a coupon allows.
func (s *Sale) accounts(ctx context.Context, most int, coupons ...int64) ([]Account, error) {
	of := "TRUE"
	var ids []any
	if len(coupons) > 0 {
		var err error
		if of, ids, err = sqlx.In("c.id IN (?)", coupons); err != nil {
			return nil, err
		}
	}
	q := `
		SELECT c.id, c.initial_stock, ` + StockColumn + `, COALESCE(SUM(u.n), 0) AS orders, COUNT(u.n) AS users,
		       COALESCE(SUM(IF(u.n > u.allowed, u.n - u.allowed, 0)), 0) AS duplicates
		FROM coupons c LEFT JOIN (
			SELECT c.id, COUNT(*) AS n, LEAST(COALESCE(MAX(r.per_user), 1), ?) AS allowed
			FROM coupons c JOIN coupon_orders o ON o.coupon_id = c.id LEFT JOIN coupon_rules r ON r.coupon_id = c.id
			WHERE ` + of + ` GROUP BY c.id, o.user_id
		) u ON u.id = c.id
		WHERE ` + of + ` GROUP BY c.id, c.initial_stock, c.stock ORDER BY c.id`
	args := slices.Concat([]any{most}, ids, ids)
	var accounts []Account
	if err := s.DB.SelectContext(ctx, &accounts, q, args...); err != nil {
		return nil, fmt.Errorf("audit coupons: %w", err)
	}
	return accounts, nil
}

// Oversold returns by how many orders promise I1 is broken.
func (a Account) Oversold() int { return max(0, a.Orders-a.InitialStock) }

// Surplus returns how many units are in stock that nobody has put on sale or given back.
// They will be sold: I1 is broken.
func (a Account) Surplus() int { return max(0, a.Stock+a.Orders-a.InitialStock) }

// Undersold returns how many units left the stock without becoming an order. It
// means the same as in GET /coupons/{id}/audit. At rest it breaks promise I3.
func (a Account) Undersold() int { return max(0, a.InitialStock-max(0, a.Stock)-a.Orders) }

// Unsold returns how many units are still in stock although the users want so many
// orders. When all claims have their replies, it breaks promise I3.
func (a Account) Unsold(wanted int) int { return max(0, min(a.Stock, wanted-a.Orders+a.Duplicates)) }

// Broken returns the promises that the accounts break, each with what breaks it. One
// statement reads stock and orders, so they add up at all times, not only at rest.
func Broken(accounts ...Account) (broken []string) {
	for _, a := range accounts {
		switch {
		case a.Stock < 0 || a.Oversold() > 0:
			broken = append(broken, fmt.Sprintf("I1: oversold: %+v", a))
		case a.Duplicates != 0:
			broken = append(broken, fmt.Sprintf("I2: more than they may: %+v", a))
		case a.Stock+a.Orders != a.InitialStock:
			broken = append(broken, fmt.Sprintf("I3: stock and orders do not add up: %+v", a))
		}
	}
	return broken
}

// Totals sums up the accounts of several coupons.
type Totals struct {
	Orders        int `json:"orders"`
	DistinctUsers int `json:"distinct_users"` // the most of any coupon
	Oversold      int `json:"oversold"`
	Surplus       int `json:"surplus"`
	Duplicates    int `json:"duplicates"`
	Undersold     int `json:"undersold"`
	Unsold        int `json:"unsold"`
	Unbalanced    int `json:"-"`             // coupons that have less stock and orders than were put on sale
	AckedMissing  int `json:"acked_missing"` // acknowledged orders that the database does not have
}

// Total sums up accounts. wanted is how many orders of each coupon its users want.
func Total(accounts []Account, wanted int) Totals {
	var t Totals
	for _, a := range accounts {
		t.Orders += a.Orders
		t.DistinctUsers = max(t.DistinctUsers, a.Users)
		t.Oversold += a.Oversold()
		t.Surplus += a.Surplus()
		t.Duplicates += a.Duplicates
		t.Undersold += a.Undersold()
		t.Unsold += a.Unsold(wanted)
		if a.Stock+a.Orders < a.InitialStock {
			t.Unbalanced++
		}
	}
	return t
}

// Audit reads all coupons and orders of the sale from the database, after w has
// run on them. acknowledged are the claims whose order clients were told of.
func (s *Sale) Audit(ctx context.Context, w Workload, acknowledged []Claim) (Totals, error) {
	accounts, err := s.accounts(ctx, w.Each)
	if err != nil {
		return Totals{}, err
	}
	if len(accounts) != w.Rounds {
		return Totals{}, fmt.Errorf("audit: %d coupons in the database, want %d", len(accounts), w.Rounds)
	}
	t := Total(accounts, w.Wanted())
	missing, err := s.Missing(ctx, acknowledged)
	t.AckedMissing = len(missing)
	return t, err
}

// Missing returns the claims that were told of an order which the database does not have,
// among those that count or those that have ended, or has for another user, coupon or
// number, or of which an earlier one was told as well. A claim that does not know its user
// or its coupon may have any.
func (s *Sale) Missing(ctx context.Context, told []Claim) (missing []Claim, err error) {
	ids := make([]string, len(told))
	for i, c := range told {
		ids[i] = c.Order
	}
	orders, err := s.OrdersByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	matched := map[string]bool{}
	for _, c := range told {
		if o, found := orders[c.Order]; !found || matched[c.Order] || !o.isOf(c) {
			missing = append(missing, c)
			continue
		}
		matched[c.Order] = true
	}
	return missing, nil
}

// An Order is what the database has of one order, whether or not it has ended.
type Order struct {
	ID        string
	User      int64 `db:"user_id"`
	Coupon    int64 `db:"coupon_id"`
	Number    int
	CreatedAt time.Time  `db:"created_at"`
	UsedAt    *time.Time `db:"used_at"`
	UsedRef   string     `db:"used_ref"`
	EndedAt   *time.Time `db:"ended_at"`
	How       string     // it has ended: returned or expired; empty if it counts
}

// isOf reports whether c can have been told of o.
func (o Order) isOf(c Claim) bool {
	return (c.User == 0 || c.User == o.User) && (c.Coupon == 0 || c.Coupon == o.Coupon) &&
		(c.Number == 0 || c.Number == o.Number)
}

// OrdersByID returns those of the named orders that there are, whether or not they have
// ended.
func (s *Sale) OrdersByID(ctx context.Context, ids []string) (map[string]Order, error) {
	const perStatement = 2000
	orders := make(map[string]Order, len(ids))
	for chunk := range slices.Chunk(ids, perStatement) {
		numbers := make([]int64, len(chunk))
		for i, id := range chunk {
			numbers[i], _ = strconv.ParseInt(id, 10, 64) // 0 is no order's id
		}
		found, err := s.orders(ctx, "id", numbers)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			orders[o.ID] = o
		}
	}
	return orders, nil
}

// Orders returns the orders of a coupon, those that count and those that have ended.
func (s *Sale) Orders(ctx context.Context, couponID int64) ([]Order, error) {
	return s.orders(ctx, "coupon_id", []int64{couponID})
}

func (s *Sale) orders(ctx context.Context, column string, values []int64) (orders []Order, err error) {
	q, args, err := sqlx.In(`
		SELECT id, user_id, coupon_id, number, created_at, used_at, COALESCE(used_ref, '') AS used_ref,
		       NULL AS ended_at, '' AS how
		FROM coupon_orders WHERE `+column+` IN (?)
		UNION ALL
		SELECT id, user_id, coupon_id, number, created_at, NULL, '', ended_at, how
		FROM coupon_orders_ended WHERE `+column+` IN (?)`, values, values)
	if err == nil {
		err = s.DB.SelectContext(ctx, &orders, q, args...)
	}
	if err != nil {
		return nil, fmt.Errorf("audit orders: %w", err)
	}
	return orders, nil
}
