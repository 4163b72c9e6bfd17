package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/loadtest/fault"
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
func lockedCoupon(m *market, i *instance) fault.Fault {
	var (
		tx             *sqlx.Tx
		stop           context.CancelFunc
		claiming       sync.WaitGroup
		claims, prompt int64
	)
	return fault.Fault{
		Name: fmt.Sprintf("coupon locked that %d users claim at %s", lockedUsers, i.Client.Name), Lasts: faultTime,
		Strike: func(ctx context.Context) error {
			id, err := m.AddCoupon(ctx, stock)
			if err == nil {
				tx, err = lockRow(ctx, m.Sale, id)
			}
			if err != nil {
				return fmt.Errorf("lock coupon: %w", err)
			}
			m.coupons.add(coupon{id: id})
			claimCtx, cancel := context.WithCancel(ctx)
			stop = cancel
			for user := range lockedUsers {
				claiming.Go(func() {
					for claimCtx.Err() == nil {
						i.Client.Claim(claimCtx, rig.Claim{User: rig.UserID(user), Coupon: id})
						rig.Sleep(claimCtx, rand.N(time.Second))
					}
				})
			}
			claims, prompt = i.tally.claims.Load(), i.tally.prompt.Load()
			return nil
		},
		Heal: func() error {
			claims, prompt = i.tally.claims.Load()-claims, i.tally.prompt.Load()-prompt
			stop()
			err := tx.Rollback()
			claiming.Wait()
			m.log("%d of %d claims of another coupon got a verdict within %s", prompt, claims, promptLimit)
			if !sellsOthers(claims, prompt) {
				m.Violations.Add("a locked coupon takes %s down: %d of %d claims of another got a verdict within %s",
					i.Client.Name, prompt, claims, promptLimit)
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

// lockRow locks a coupon's row until the transaction ends.
func lockRow(ctx context.Context, sale *rig.Sale, coupon int64) (*sqlx.Tx, error) {
	tx, err := sale.DB.BeginTxx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, "SELECT id FROM coupons WHERE id = ? FOR UPDATE", coupon); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}
