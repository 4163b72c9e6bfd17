package coupon

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// A Store keeps coupons in MySQL.
type Store struct{ db *sqlx.DB }

// NewStore returns a Store in db's table coupons.
func NewStore(db *sqlx.DB) *Store { return &Store{db} }

// Create inserts c. It is an error if a coupon has the id already.
func (s *Store) Create(ctx context.Context, c Coupon) error {
	const q = `
		INSERT INTO coupons (id, name, begin_time, end_time, initial_stock, stock, created_at)
		VALUES (:id, :name, :begin_time, :end_time, :initial_stock, :stock, :created_at)`
	if _, err := s.db.NamedExecContext(ctx, q, c); err != nil {
		return fmt.Errorf("coupon %d: create: %w", c.ID, err)
	}
	return nil
}

// Find returns a coupon, or ErrNotFound.
func (s *Store) Find(ctx context.Context, id int64) (Coupon, error) {
	const q = `
		SELECT id, name, begin_time, end_time, initial_stock, stock, created_at
		FROM coupons WHERE id = ?`
	var c Coupon
	err := s.db.GetContext(ctx, &c, q, id)
	if errors.Is(err, sql.ErrNoRows) {
		return Coupon{}, ErrNotFound
	}
	if err != nil {
		return Coupon{}, fmt.Errorf("coupon %d: find: %w", id, err)
	}
	return c, nil
}

// List returns up to limit coupons whose ids are below before, newest first. If
// before is 0, it returns the newest.
func (s *Store) List(ctx context.Context, before int64, limit int) ([]Coupon, error) {
	const q = `
		SELECT id, name, begin_time, end_time, initial_stock, stock, created_at
		FROM coupons WHERE ? = 0 OR id < ? ORDER BY id DESC LIMIT ?`
	coupons := []Coupon{}
	if err := s.db.SelectContext(ctx, &coupons, q, before, before, limit); err != nil {
		return nil, fmt.Errorf("coupons: list: %w", err)
	}
	return coupons, nil
}

// Restock adds add units to stock and initial stock, and returns the coupon
// afterwards. The error is ErrNotFound, ErrStockLimit if the initial stock would
// exceed MaxStock, or an *InvalidError if add is not 1 to MaxStock.
func (s *Store) Restock(ctx context.Context, id int64, add int) (Coupon, error) {
	if add < 1 || add > MaxStock {
		return Coupon{}, &InvalidError{"add", fmt.Sprintf("must be 1 to %d", MaxStock)}
	}
	const q = `
		UPDATE coupons
		SET initial_stock = initial_stock + ?, stock = stock + ?, version = version + 1
		WHERE id = ? AND initial_stock <= ?`
	result, err := s.db.ExecContext(ctx, q, add, add, id, MaxStock-add)
	if err != nil {
		return Coupon{}, fmt.Errorf("coupon %d: restock: %w", id, err)
	}
	changed, err := result.RowsAffected()
	if err != nil {
		return Coupon{}, fmt.Errorf("coupon %d: restock: %w", id, err)
	}
	c, err := s.Find(ctx, id)
	if err == nil && changed == 0 {
		return Coupon{}, ErrStockLimit
	}
	return c, err
}
