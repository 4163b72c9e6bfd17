package commit

import (
	"context"
	"errors"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order"
)

// The deadline of a claim is most often what has lost the reply, and COMMIT may be on its way.
func TestReadBackOutlastsTheClaimAndWaitsForTheTransaction(t *testing.T) {
	t.Parallel()
	db, lost := labtest.DB(t), errors.New("lost")
	o := order.Order{ID: 7, CouponID: 1, Claimant: order.Claimant{UserID: 42, Number: 1}}
	ended, end := context.WithCancel(t.Context())
	end()
	tx := db.MustBegin()
	defer tx.Rollback()
	tx.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (7, 1, 42, NOW())`)
	if err := readBack(ended, db, o, lost); !errors.Is(err, lost) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the transaction is open: %v, want the end of the wait for it", err)
	}
	check.NoError(t, tx.Commit())
	check.NoError(t, readBack(ended, db, o, lost))
}

// A taken id has failed the transaction, however its COMMIT was lost.
func TestOrderOfAnotherUserIsNotReadBack(t *testing.T) {
	t.Parallel()
	db, lost := labtest.DB(t), errors.New("lost")
	db.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (7, 1, 42, NOW())`)
	of := func(id, user int64) order.Order {
		return order.Order{ID: id, CouponID: 1, Claimant: order.Claimant{UserID: user, Number: 1}}
	}
	check.NoError(t, readBack(t.Context(), db, of(7, 42), lost))
	check.ErrorIs(t, readBack(t.Context(), db, of(7, 43), lost), lost)
	check.ErrorIs(t, readBack(t.Context(), db, of(8, 42), lost), lost)
}
