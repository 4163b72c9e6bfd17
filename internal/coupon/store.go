package coupon

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/transaction"
)

// A Store keeps coupons in MySQL. Changes that it cannot tell to be committed or not
// end with ErrUnknown.
type Store struct {
	db      *sqlx.DB
	key     string       // of a change; see Once
	changed func(Coupon) // see Telling
}

// transferColumns are all but those that an administrator has added, which may be generated.
const transferColumns = `coupon_id, segment, origin, target, units, shard_key`

// Writes are what a claim reads and writes in the tables of coupons, without a row: see
// transaction.CheckWritable.
var Writes = []string{
	strings.ReplaceAll(selectCoupons, "?", "0"),
	`UPDATE coupons SET stock = stock WHERE id = 0`,
	`UPDATE coupon_segments SET stock = stock WHERE coupon_id = 0`,
	`INSERT INTO coupon_transfers (` + transferColumns + `) SELECT ` + transferColumns + ` FROM coupon_transfers
		WHERE coupon_id = 0 ON DUPLICATE KEY UPDATE units = 0`,
}

// NewStore returns a Store in db's table coupons.
func NewStore(db *sqlx.DB) *Store { return &Store{db, "", func(Coupon) {}} }

// Telling returns a Store that calls changed with each coupon that it has just changed, which
// the result of a change that is repeated is not.
func (s *Store) Telling(changed func(Coupon)) *Store { return &Store{s.db, s.key, changed} }

// Create inserts c, which the administrator adminID creates, records the change, and
// returns the coupon. The error wraps ErrIDTaken if another coupon has the id, and
// ErrNoRules if c has rules, and an instance that does not know them may be running.
func (s *Store) Create(ctx context.Context, c Coupon, adminID int64) (Coupon, error) {
	const q = `
		INSERT INTO coupons (id, name, begin_time, end_time, initial_stock, stock, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)`
	wanted := c
	wanted.ID, wanted.CreatedAt = 0, time.Time{} // a repeated request has others
	created, err := s.once(ctx, adminID, []any{ActionCreate, wanted}, func(conn *sqlx.Conn) (after Coupon, err error) {
		if _, err := conn.ExecContext(ctx, q, c.ID, c.Name, c.BeginTime, c.EndTime, c.InitialStock,
			c.share(c.Stock, 0), c.CreatedAt); transaction.HasNumber(err, transaction.DuplicateKey) {
			return Coupon{}, ErrIDTaken
		} else if err != nil {
			return Coupon{}, err
		}
		if err := insertSegments(ctx, conn, c); err != nil {
			return Coupon{}, err
		}
		if err := insertRules(ctx, conn, c); err != nil {
			return Coupon{}, err
		}
		after = c
		after.Revision, err = recordChange(ctx, conn, adminID, ActionCreate, Coupon{}, c)
		return after, err
	})
	if err != nil {
		return Coupon{}, fmt.Errorf("coupon %d: create: %w", c.ID, err)
	}
	return created, nil
}

const selectCoupons = `
	SELECT c.*, u.stock, u.segments, u.version FROM (` + Stock + `) u JOIN (
		SELECT c.id, c.name, c.begin_time, c.end_time, c.initial_stock, c.created_at, ` + rulesColumns + `,
		       COALESCE((
			SELECT h.id FROM coupon_changes h WHERE h.coupon_id = c.id ORDER BY h.id DESC LIMIT 1
		       ), 0) AS revision
		FROM coupons c` + rulesJoin + ` WHERE c.id IN (?)
	) c ON c.id = u.coupon_id`

// Find returns a coupon, or ErrNotFound.
func (s *Store) Find(ctx context.Context, id int64) (Coupon, error) {
	all, err := FindAll(ctx, s.db, id)
	return pick(all, id, err)
}

// pick returns what Find returns, out of what FindAll has returned.
func pick(all map[int64]Coupon, id int64, err error) (Coupon, error) {
	c, exists := all[id]
	switch {
	case err != nil:
		return Coupon{}, fmt.Errorf("coupon %d: find: %w", id, err)
	case !exists:
		return Coupon{}, ErrNotFound
	}
	return c, nil
}

// FindAll returns those of the coupons that exist, by their ids, as db reads them, which may
// be a connection in a transaction.
func FindAll(ctx context.Context, db sqlx.QueryerContext, ids ...int64) (map[int64]Coupon, error) {
	q, args, err := sqlx.In(selectCoupons, ids, ids, ids)
	if err != nil {
		return nil, err
	}
	var rows []Coupon
	if err := sqlx.SelectContext(ctx, db, &rows, q, args...); err != nil {
		return nil, err
	}
	coupons := make(map[int64]Coupon, len(rows))
	for _, c := range rows {
		coupons[c.ID] = c
	}
	return coupons, nil
}

// List returns up to limit coupons whose ids are below before, newest first. If
// before is 0, it returns the newest.
func (s *Store) List(ctx context.Context, before int64, limit int) ([]Coupon, error) {
	const q = `SELECT id FROM coupons WHERE ? = 0 OR id < ? ORDER BY id DESC LIMIT ?`
	var ids []int64
	err := s.db.SelectContext(ctx, &ids, q, before, before, limit)
	coupons := []Coupon{}
	if err == nil && len(ids) > 0 {
		var all map[int64]Coupon
		all, err = FindAll(ctx, s.db, ids...)
		for _, id := range ids {
			if c, exists := all[id]; exists { // it may be gone since
				coupons = append(coupons, c)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("coupons: list: %w", err)
	}
	return coupons, nil
}

// Restock adds add units to stock and initial stock for the administrator
// adminID, spread over the segments, records the change, and returns the coupon
// afterwards. The error is ErrNotFound, ErrStockLimit if the initial stock would
// exceed MaxStock, or an *InvalidError if add is not 1 to MaxStock.
func (s *Store) Restock(ctx context.Context, id int64, add int, adminID int64) (Coupon, error) {
	if add < 1 || add > MaxStock {
		return Coupon{}, &InvalidError{"add", fmt.Sprintf("must be 1 to %d", MaxStock)}
	}
	return s.change(ctx, id, adminID, ActionRestock, add, func(conn *sqlx.Conn, before Coupon) (Coupon, error) {
		return restock(ctx, conn, before, add)
	})
}

func restock(ctx context.Context, conn *sqlx.Conn, c Coupon, add int) (after Coupon, err error) {
	if c.InitialStock > MaxStock-add {
		return Coupon{}, ErrStockLimit
	}
	const q = `
		UPDATE coupons
		SET initial_stock = initial_stock + ?, stock = stock + ?, version = version + 1
		WHERE id = ?`
	if _, err := conn.ExecContext(ctx, q, add, c.share(add, 0), c.ID); err != nil {
		return Coupon{}, err
	}
	if err := restockSegments(ctx, conn, c, add); err != nil {
		return Coupon{}, err
	}
	c.InitialStock += add
	c.Stock += add
	c.Version += int64(c.Segments)
	return c, nil
}

// change does to a coupon what the administrator adminID wants, records it, and
// returns the coupon afterwards. The coupon's rows are locked, so that no claim
// changes the stock between the states that are recorded.
func (s *Store) change(ctx context.Context, id, adminID int64, action string, wanted any,
	do func(conn *sqlx.Conn, before Coupon) (after Coupon, err error)) (Coupon, error) {
	request := []any{action, id, wanted}
	after, err := s.once(ctx, adminID, request, func(conn *sqlx.Conn) (after Coupon, err error) {
		before, err := lockCoupon(ctx, conn, id)
		if err != nil {
			return Coupon{}, err
		}
		if after, err = do(conn, before); err != nil {
			return Coupon{}, err
		}
		after.Revision, err = recordChange(ctx, conn, adminID, action, before, after)
		return after, err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Coupon{}, ErrNotFound
	case errors.Is(err, ErrStockLimit), errors.Is(err, ErrInvalid):
		return Coupon{}, err
	case err != nil:
		return Coupon{}, fmt.Errorf("coupon %d: %s: %w", id, action, err)
	}
	return after, nil
}

// lockCoupon locks a coupon's rows, in the order in which claims lock them, and
// returns it without Revision.
func lockCoupon(ctx context.Context, conn *sqlx.Conn, id int64) (c Coupon, err error) {
	const q = `
		SELECT c.id, c.name, c.begin_time, c.end_time, c.initial_stock, c.stock, c.created_at, c.version,
		       ` + rulesColumns + `
		FROM coupons c` + rulesJoin + ` WHERE c.id = ? FOR UPDATE`
	if err := conn.GetContext(ctx, &c, q, id); err != nil {
		return Coupon{}, err
	}
	n, stock, version, err := lockSegments(ctx, conn, id)
	c.Segments, c.Stock, c.Version = 1+n, c.Stock+stock, c.Version+version
	return c, err
}
