package rig

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Sell gives the coupon to User(0) to User(n-1), straight into the database
// and without touching the stock.
func (s *Sale) Sell(ctx context.Context, couponID int64, n int) error {
	const most = 2000 // rows in one statement
	for from := 0; from < n; from += most {
		var q strings.Builder
		q.WriteString("INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES ")
		for i := from; i < min(n, from+most); i++ {
			if i > from {
				q.WriteByte(',')
			}
			fmt.Fprintf(&q, "(%d,%d,%d,UTC_TIMESTAMP(3))", couponID<<32|int64(i+1), couponID, User(i))
		}
		if _, err := s.DB.ExecContext(ctx, q.String()); err != nil {
			return fmt.Errorf("coupon %d: sell: %w", couponID, err)
		}
	}
	return nil
}

// Answer sends req and returns the status and body of its answer.
func Answer(c *http.Client, req *http.Request) (status int, body string, err error) {
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, string(b), err
}
