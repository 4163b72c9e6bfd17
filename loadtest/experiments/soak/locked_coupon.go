package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// lockedRate is how many users a second claim the locked coupon: those of CLAIM_TIMEOUT are more than
// an instance has slots for one coupon, and fewer than it has connections.
const lockedRate = 300

// lockedCoupon locks the row of a coupon, which new users claim at one instance. The
// instance must sell the other coupons: see beside.
func lockedCoupon(m *market, i *trial.Instance) fault.Fault {
	var (
		tx       *sqlx.Tx
		claiming sync.WaitGroup
		id       int64
	)
	return fault.Fault{
		Name: "coupon locked that is claimed at " + i.Client.Name, Lasts: faultTime,
		Strike: func(ctx context.Context) (err error) {
			if id, err = m.AddCoupon(ctx, stock); err == nil {
				tx, err = lockRow(ctx, m.Sale, id)
			}
			if err != nil {
				return fmt.Errorf("lock coupon: %w", err)
			}
			claiming.Go(func() {
				_, _ = i.Client.Claims(ctx, generator.Phase{Rate: lockedRate, Duration: faultTime}, // ends with ctx
					func(int) rig.Claim { return rig.Claim{User: m.newUser(), Coupon: id} })
			})
			return nil
		},
		Heal: func() error {
			err := tx.Rollback()
			claiming.Wait()
			m.coupons.add(coupon{id: id})
			return err
		},
	}
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
