package commit

import (
	"errors"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order"
)

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
