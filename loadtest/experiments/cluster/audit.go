package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// An Audit is what servers' own data say about a coupon after its sale. Each user may have one order.
type Audit struct {
	Server string `json:"server"`
	rig.Account
	Missing int `json:"acked_missing"` // orders that users were told of
	Untold  int `json:"untold"`        // orders that no user was told of
}

// A ledger is what servers have together of one coupon.
type ledger struct {
	rig.Account
	moved   int
	orders  map[string]rig.Order
	servers map[string]int // that have the orders
}

// audit reads the sale of b's coupon from servers, and judges it. In a cluster a server first applies what
// the others have committed before.
func audit(ctx context.Context, name string, sale *rig.Sale, b *buyers, servers ...*lab.MySQL) (Audit, ledger, error) {
	l := ledger{orders: map[string]rig.Order{}, servers: map[string]int{}}
	for i, m := range servers {
		err := ask(m, sale.Name, func(db *sqlx.DB) error { return l.read(ctx, i, db, b) })
		if err != nil {
			return Audit{}, l, fmt.Errorf("audit %s: %w", name, err)
		}
	}
	if l.InitialStock == 0 {
		return Audit{}, l, fmt.Errorf("audit %s: there is no coupon %d", name, b.coupon)
	}
	return l.judge(name, b), l, nil
}

// ask calls do with a connection to a server's own data, and closes it.
func ask(m *lab.MySQL, database string, do func(*sqlx.DB) error) error {
	db, err := connect.MySQL(m.SyncedDSN(database), 1)
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close())
}

// read adds what the i-th server has of b's coupon.
func (l *ledger) read(ctx context.Context, i int, db *sqlx.DB, b *buyers) error {
	const q = `
		SELECT COALESCE((SELECT SUM(initial_stock) FROM coupons WHERE id = ?), 0) AS initial,
			COALESCE((SELECT SUM(stock) FROM coupons WHERE id = ?), 0) +
			COALESCE((SELECT SUM(stock) FROM coupon_segments WHERE coupon_id = ?), 0) +
			COALESCE((SELECT SUM(units) FROM coupon_transfers WHERE coupon_id = ?), 0) AS stock,
			COALESCE((SELECT SUM(units) FROM coupon_transfers WHERE coupon_id = ? AND units > 0), 0) AS moved`
	var has struct{ Initial, Stock, Moved int }
	id := b.coupon
	if err := db.GetContext(ctx, &has, q, id, id, id, id, id); err != nil {
		return err
	}
	l.InitialStock, l.Stock, l.moved = l.InitialStock+has.Initial, l.Stock+has.Stock, l.moved+has.Moved
	own := &rig.Sale{DB: db}
	orders, err := own.Orders(ctx, id)
	for _, o := range orders {
		if _, other := l.orders[o.ID]; other {
			b.Violations.Add("order %s is on two servers", o.ID)
		}
		l.orders[o.ID], l.servers[o.ID] = o, i
	}
	return err
}

// judge compares l with what b's users were told.
func (l ledger) judge(server string, b *buyers) Audit {
	users := map[int64]bool{}
	for _, o := range l.orders {
		users[o.User] = true
	}
	a := Audit{Server: server, Account: l.Account}
	a.CouponID, a.Orders, a.Users, a.Duplicates = b.coupon, len(l.orders), len(users), len(l.orders)-len(users)
	told := b.Told(0)
	for _, c := range told {
		if o, found := l.orders[c.Order]; !found || o.User != c.User {
			a.Missing++
		}
	}
	a.Untold = a.Orders - (len(told) - a.Missing)
	return a
}

// keptWith reports whether all promises hold, and the data are those of other. Only where orders may be lost,
// some are missing.
func (a Audit) keptWith(other Audit, lost bool) bool {
	return len(rig.Broken(a.Account)) == 0 && (lost || a.Missing == 0) && a.Untold == 0 && a.Account == other.Account
}

// auditAll audits every server. A broken promise and a difference from the first
// server are violations.
func auditAll(
	ctx context.Context, sale *rig.Sale, b *buyers, servers []*lab.MySQL, lost bool,
) (all []Audit, err error) {
	for i, m := range servers {
		a, _, err := audit(ctx, fmt.Sprintf("server %d", i+1), sale, b, m)
		if err != nil {
			return nil, err
		}
		if all = append(all, a); !a.keptWith(all[0], lost) {
			b.Violations.Add("%+v", a)
		}
	}
	return all, nil
}
