package cluster

import (
	"context"
	"fmt"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// An Audit is what one server's own data say about a coupon after its sale.
type Audit struct {
	Server     string `json:"server"`
	Orders     int    `json:"orders"`
	Users      int    `json:"distinct_users"`
	StockLeft  int    `json:"stock_left"`
	Oversold   int    `json:"oversold"`
	Duplicates int    `json:"duplicates"`
	Unbalanced bool   `json:"unbalanced"`    // the orders and the stock left are not the initial stock
	Missing    int    `json:"acked_missing"` // orders that users were told of
	Untold     int    `json:"untold"`        // orders that no user was told of
}

// audit reads the sale of one coupon from m. In a Galera cluster the server first
// applies what the others have committed before.
func audit(ctx context.Context, server string, m *lab.MySQL, sale *rig.Sale, coupon int64, b *buyers) (Audit, error) {
	db, err := connect.MySQL(m.DSN(sale.Name)+"?wsrep_sync_wait=1", 2)
	if err != nil {
		return Audit{}, err
	}
	defer db.Close()
	own := &rig.Sale{DB: db}
	accounts, err := own.Accounts(ctx, coupon)
	if err != nil {
		return Audit{}, err
	}
	if len(accounts) != 1 {
		return Audit{}, fmt.Errorf("audit %s: %d coupons %d", server, len(accounts), coupon)
	}
	account := accounts[0]
	a := Audit{
		Server: server, Orders: account.Orders, Users: account.Users, StockLeft: account.Stock,
		Oversold: account.Oversold(), Duplicates: account.Duplicates(), Unbalanced: !account.Balanced(),
	}
	told := b.orders()
	if a.Missing, err = own.Missing(ctx, told); err != nil {
		return Audit{}, err
	}
	a.Untold = a.Orders - (len(told) - a.Missing)
	return a, nil
}

// consistent reports whether the promises hold that do not depend on what users
// were told.
func (a Audit) consistent() bool { return a.Oversold == 0 && a.Duplicates == 0 && !a.Unbalanced }

// kept reports whether all promises hold.
func (a Audit) kept() bool { return a.consistent() && a.Missing == 0 && a.Untold == 0 }

// broken tells which servers have broken a promise or differ from the first.
func broken(audits []Audit) (violations []string) {
	for _, a := range audits {
		if !a.kept() || a.Orders != audits[0].Orders || a.StockLeft != audits[0].StockLeft {
			violations = append(violations, fmt.Sprintf("%+v", a))
		}
	}
	return violations
}

// auditAll audits every server.
func auditAll(
	ctx context.Context, servers []*lab.MySQL, sale *rig.Sale, coupon int64, b *buyers,
) (all []Audit, err error) {
	for i, m := range servers {
		a, err := audit(ctx, fmt.Sprintf("node %d", i+1), m, sale, coupon, b)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// printViolations prints what is wrong with a row.
func printViolations(violations []string) {
	for _, v := range violations {
		fmt.Println("  NO:", v)
	}
}
