package coupon

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// Rules say what a user may do with a coupon. They are set when it is created.
type Rules struct {
	PerUser     int  `db:"per_user"`     // orders that a user may have at a time
	HoldSeconds int  `db:"hold_seconds"` // after which an order that is not used expires; 0: never
	Returnable  bool `db:"returnable"`   // its user may return an order; an administrator always may
}

// defaultRules are those of a coupon without a row in coupon_rules.
var defaultRules = Rules{PerUser: 1}

// The limits of Rules.
const (
	MaxPerUser     = 100
	MinHoldSeconds = 10
	MaxHoldSeconds = 30 * 24 * 60 * 60
)

// Hold returns for how long an order can be used, or 0 if it does not expire.
func (r Rules) Hold() time.Duration { return time.Duration(r.HoldSeconds) * time.Second }

// WithRules returns c with rules, or an *InvalidError for the first that is invalid.
// Call it before Create.
func (c Coupon) WithRules(r Rules) (Coupon, error) {
	switch {
	case r.PerUser < 1 || r.PerUser > MaxPerUser:
		return Coupon{}, &InvalidError{"per_user", fmt.Sprintf("must be 1 to %d", MaxPerUser)}
	case r.HoldSeconds != 0 && (r.HoldSeconds < MinHoldSeconds || r.HoldSeconds > MaxHoldSeconds):
		return Coupon{}, &InvalidError{"hold_seconds", fmt.Sprintf("must be %d to %d", MinHoldSeconds, MaxHoldSeconds)}
	}
	c.Rules = r
	return c, nil
}

// insertRules inserts the rules of c, unless they are the default. The error is ErrNoRules
// if a binary that does not know them may be running: see migrations.AllowRules.
func insertRules(ctx context.Context, conn *sqlx.Conn, c Coupon) error {
	if c.Rules == defaultRules {
		return nil
	}
	var allowed bool
	const known = `SELECT EXISTS (SELECT 1 FROM schema_compatibility WHERE oldest >= 13)`
	if err := conn.GetContext(ctx, &allowed, known); err != nil {
		return err
	}
	if !allowed {
		return ErrNoRules
	}
	const q = `INSERT INTO coupon_rules (coupon_id, per_user, hold_seconds, returnable) VALUES (?, ?, ?, ?)`
	_, err := conn.ExecContext(ctx, q, c.ID, c.PerUser, c.HoldSeconds, c.Returnable)
	return err
}

// rulesColumns are the rules of a row c of table coupons that is joined by rulesJoin.
const (
	rulesColumns = `COALESCE(r.per_user, 1) AS per_user, COALESCE(r.hold_seconds, 0) AS hold_seconds,
	       COALESCE(r.returnable, FALSE) AS returnable`
	rulesJoin = ` LEFT JOIN coupon_rules r ON r.coupon_id = c.id`
)
