package cluster

import (
	"context"
	"errors"
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

var errNoCoupon = errors.New("there is no coupon")

// audit reads the sale of b's coupon from m. In a cluster the server first applies what
// the others have committed before.
func audit(ctx context.Context, server string, m *lab.MySQL, sale *rig.Sale, b *buyers) (Audit, error) {
	db, err := connect.MySQL(m.SyncedDSN(sale.Name), 2)
	if err != nil {
		return Audit{}, err
	}
	defer db.Close()
	own := &rig.Sale{DB: db}
	accounts, err := own.Accounts(ctx, b.coupon)
	if err != nil {
		return Audit{}, err
	}
	if len(accounts) == 0 {
		return Audit{}, fmt.Errorf("audit %s: %w %d", server, errNoCoupon, b.coupon)
	}
	told, account := b.Told(0), accounts[0]
	missing, err := own.Missing(ctx, told)
	return Audit{
		Server: server, Orders: account.Orders, Users: account.Users, StockLeft: account.Stock,
		Oversold: account.Oversold(), Duplicates: account.Duplicates, Unbalanced: !account.Balanced(),
		Missing: len(missing), Untold: account.Orders - (len(told) - len(missing)),
	}, err
}

// consistent reports whether the promises hold that do not depend on what users
// were told.
func (a Audit) consistent() bool { return a.Oversold == 0 && a.Duplicates == 0 && !a.Unbalanced }

// keptWith reports whether all promises hold, and the data are those of other.
func (a Audit) keptWith(other Audit) bool {
	return a.consistent() && a.Missing == 0 && a.Untold == 0 && a.Orders == other.Orders &&
		a.StockLeft == other.StockLeft
}

// auditAll audits every server. A broken promise and a difference from the first
// server are violations.
func auditAll(ctx context.Context, servers []*lab.MySQL, sale *rig.Sale, b *buyers) (all []Audit, err error) {
	for i, m := range servers {
		a, err := audit(ctx, fmt.Sprintf("node %d", i+1), m, sale, b)
		if err != nil {
			return nil, err
		}
		if all = append(all, a); !a.keptWith(all[0]) {
			b.Violations.Add("%+v", a)
		}
	}
	return all, nil
}
