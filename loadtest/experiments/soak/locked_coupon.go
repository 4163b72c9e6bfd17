package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/loadtest/rig"
)

const (
	lockedUsers = 2500 // users that claim the locked coupon at one instance, more than it has slots
	// minShare is the share of the claims of another coupon that must get a
	// prompt verdict meanwhile.
	minShare = 0.8
)

// lockedCoupon locks the row of a coupon, which lockedUsers claim at one instance.
// The instance must continue to sell the other coupons.
func (r *run) lockedCoupon(i *instance) fault {
	var (
		tx       *sqlx.Tx
		stop     context.CancelFunc
		claiming sync.WaitGroup
		before   counts
	)
	return fault{
		what: fmt.Sprintf("coupon locked that %d users claim at instance %s", lockedUsers, i.name), lasts: faultTime,
		strike: func(ctx context.Context) (err error) {
			coupon, err := r.sale.AddCoupon(ctx, stock)
			if err != nil {
				return err
			}
			if tx, err = r.lockCoupon(ctx, coupon); err != nil {
				return err
			}
			r.coupons.add(coupon)
			claimCtx, cancel := context.WithCancel(ctx)
			stop = cancel
			for user := range lockedUsers {
				claiming.Go(func() { r.claimRepeatedly(claimCtx, i.client, claim{rig.UserID(user), coupon}) })
			}
			before = i.tally.read()
			return nil
		},
		heal: func() error {
			now := i.tally.read()
			stop()
			err := tx.Rollback()
			claiming.Wait()
			claims, prompt := now.claims-before.claims, now.prompt-before.prompt
			r.log("%d of %d claims of another coupon got a verdict within %s", prompt, claims, promptLimit)
			if !sellsOthers(claims, prompt) {
				r.violations.add("a locked coupon takes instance %s down: %d of %d claims of another got a verdict within %s",
					i.name, prompt, claims, promptLimit)
			}
			return err
		},
	}
}

// sellsOthers reports whether enough claims of another coupon were prompt. At
// least one must have been made.
func sellsOthers(claims, prompt int64) bool {
	return claims > 0 && float64(prompt) >= minShare*float64(claims)
}

// lockCoupon locks a coupon's row until the transaction ends.
func (r *run) lockCoupon(ctx context.Context, coupon int64) (*sqlx.Tx, error) {
	tx, err := r.sale.DB.BeginTxx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, fmt.Errorf("lock coupon: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "SELECT id FROM coupons WHERE id = ? FOR UPDATE", coupon); err != nil {
		_ = tx.Rollback()
		return nil, fmt.Errorf("lock coupon: %w", err)
	}
	return tx, nil
}

// claimRepeatedly sends a claim, and again up to a second after each reply.
func (r *run) claimRepeatedly(ctx context.Context, client client, c claim) {
	for {
		r.claim(ctx, client, c)
		if !rig.Sleep(ctx, rand.N(time.Second)) {
			return
		}
	}
}
