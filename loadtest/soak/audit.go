package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// An account is one coupon at one instant.
type account struct {
	ID      int64 `db:"id"`
	Initial int   `db:"initial_stock"`
	Left    int   `db:"stock"`
	Orders  int   `db:"orders"`
	Users   int   `db:"users"`
}

// watch audits the database again and again. While that is away, so is it.
func (w *world) watch(ctx context.Context) error {
	for pause(ctx, time.Second) {
		acks := w.ledger.take()
		err := w.checkAccounts(ctx)
		if err == nil {
			err = w.checkAcks(ctx, acks)
		}
		if err != nil {
			w.ledger.giveBack(acks)
		}
	}
	return nil
}

// checkAccounts compares stock and orders, which one statement sees at one
// instant: they must add up at all times, not only at rest.
func (w *world) checkAccounts(ctx context.Context) error {
	accounts, err := w.accounts(ctx)
	for _, a := range accounts {
		switch {
		case a.Left < 0 || a.Orders > a.Initial:
			w.faults.add("I1: oversold: %+v", a)
		case a.Orders != a.Users:
			w.faults.add("I2: more than one each: %+v", a)
		case a.Orders+a.Left != a.Initial:
			w.faults.add("I3: stock and orders do not add up: %+v", a)
		}
	}
	return err
}

func (w *world) accounts(ctx context.Context) ([]account, error) {
	const q = `
		SELECT c.id, c.initial_stock, c.stock, COUNT(o.id) AS orders, COUNT(DISTINCT o.user_id) AS users
		FROM coupons c LEFT JOIN coupon_orders o ON o.coupon_id = c.id
		GROUP BY c.id, c.initial_stock, c.stock`
	var all []account
	return all, w.sale.DB.SelectContext(ctx, &all, q)
}

// checkAcks looks for acknowledged orders, which must be there and be of whom
// they were promised to.
func (w *world) checkAcks(ctx context.Context, acks map[int64]purchase) error {
	const most = 2000 // ids in one statement
	var ids []string
	for id := range acks {
		ids = append(ids, fmt.Sprint(id))
	}
	for len(ids) > 0 {
		n := min(most, len(ids))
		found, err := w.orders(ctx, ids[:n])
		if err != nil {
			return err
		}
		for _, id := range ids[:n] {
			if p := acks[number(id)]; found[number(id)] != p {
				w.faults.add("I3: order %s was promised to %+v; the database has %+v", id, p, found[number(id)])
			}
		}
		ids = ids[n:]
	}
	return nil
}

func (w *world) orders(ctx context.Context, ids []string) (map[int64]purchase, error) {
	var rows []struct {
		ID     int64 `db:"id"`
		User   int64 `db:"user_id"`
		Coupon int64 `db:"coupon_id"`
	}
	q := "SELECT id, user_id, coupon_id FROM coupon_orders WHERE id IN (" + strings.Join(ids, ",") + ")"
	err := w.sale.DB.SelectContext(ctx, &rows, q)
	found := make(map[int64]purchase, len(rows))
	for _, r := range rows {
		found[r.ID] = purchase{r.User, r.Coupon}
	}
	return found, err
}

func (w *world) left(ctx context.Context, coupon int64) (n int, err error) {
	return n, w.sale.DB.GetContext(ctx, &n, `SELECT stock FROM coupons WHERE id = ?`, coupon)
}

// settle asks, when all is quiet again, for what is still owed: an answer for
// every claim that got none, and every coupon sold to the last.
func (w *world) settle(ctx context.Context) error {
	w.say("settle")
	if !pause(ctx, 2*time.Second) { // nginx tries a dead instance again after two
		return ctx.Err()
	}
	w.resolve(ctx)
	for _, coupon := range w.market.all() {
		if err := w.sellOut(ctx, coupon); err != nil {
			return err
		}
	}
	if err := w.checkAccounts(ctx); err != nil {
		return err
	}
	return w.checkAcks(ctx, w.ledger.all())
}

// resolve repeats the claims that had no answer. Each was made or was not.
func (w *world) resolve(ctx context.Context) {
	for _, p := range w.ledger.doubts() {
		if a := w.claim(ctx, p); a.verdict() == "unknown" {
			w.faults.add("the service does not recover: no answer to %+v", p)
		}
	}
}

// sellOut sends more newcomers than a coupon has left: all that is left must go
// (I3), and nobody may be refused before.
func (w *world) sellOut(ctx context.Context, coupon int64) error {
	left, err := w.left(ctx, coupon)
	if err != nil {
		return err
	}
	const beyond = 20
	verdicts := make(chan string)
	turn := make(chan struct{}, crowd)
	for i := range left + beyond {
		go func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			verdicts <- w.claim(ctx, purchase{rig.User(town + 1<<20 + i), coupon}).verdict()
		}()
	}
	count := map[string]int{}
	for range left + beyond {
		count[<-verdicts]++
	}
	if count["accepted"] != left || count["sold_out"] != beyond {
		w.faults.add("I3: coupon %d had %d left and %d newcomers got %v", coupon, left, left+beyond, count)
	}
	return ctx.Err()
}
