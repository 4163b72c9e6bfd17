package order

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
)

// lookups reads the orders of single users. The lookups of a coupon that arrive
// while another query for it is running share the next query.
type lookups struct {
	db *sqlx.DB

	mu     sync.Mutex
	queues map[int64][]*lookup // by coupon; a queue exists while a goroutine will take it
}

type lookup struct {
	ctx    context.Context
	userID int64
	result chan lookupResult // buffered: sending does not block if the caller has returned
}

type lookupResult struct {
	orderID int64 // 0 if the user has no order
	soldOut bool  // the coupon has no stock
	err     error
}

const (
	// maxLookups bounds a query. Up to 200 values MySQL plans by the index
	// itself and not by statistics, which may be wrong.
	maxLookups = 128
	// lookupTimeout bounds a query. The callers have deadlines of their own.
	lookupTimeout = 2 * time.Second
	// slowLookup is when a query no longer holds up the next one: its connection
	// may be silent.
	slowLookup = 200 * time.Millisecond
)

func newLookups(db *sqlx.DB) *lookups {
	return &lookups{db: db, queues: map[int64][]*lookup{}}
}

// find reads the user's order and the coupon's stock, both at one instant.
func (l *lookups) find(ctx context.Context, couponID, userID int64) (lookupResult, error) {
	u := &lookup{ctx, userID, make(chan lookupResult, 1)}
	l.enqueue(couponID, u)
	select {
	case r := <-u.result:
		return r, r.err
	case <-ctx.Done():
		return lookupResult{}, context.Cause(ctx)
	}
}

func (l *lookups) enqueue(couponID int64, u *lookup) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, running := l.queues[couponID]
	l.queues[couponID] = append(queue, u)
	if !running {
		go l.readQueue(couponID)
	}
}

// readQueue reads the lookups of a coupon until its queue is empty. Behind a slow
// query another goroutine goes on.
func (l *lookups) readQueue(couponID int64) {
	for batch := l.nextBatch(couponID); len(batch) > 0; batch = l.nextBatch(couponID) {
		slow := time.AfterFunc(slowLookup, func() { l.readQueue(couponID) })
		orders, soldOut, err := l.read(couponID, batch)
		for _, u := range batch {
			u.result <- lookupResult{orders[u.userID], soldOut, err}
		}
		if !slow.Stop() {
			return
		}
	}
}

// nextBatch removes up to maxLookups lookups from a queue, and drops those whose
// context has ended. It deletes the queue when none is left.
func (l *lookups) nextBatch(couponID int64) []*lookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.queues[couponID]
	var batch []*lookup
	for len(queue) > 0 && len(batch) < maxLookups {
		if queue[0].ctx.Err() == nil {
			batch = append(batch, queue[0])
		}
		queue = queue[1:]
	}
	if len(batch) == 0 {
		delete(l.queues, couponID)
	} else {
		l.queues[couponID] = queue
	}
	return batch
}

// read returns the orders of the batch's users, and whether the coupon is sold
// out. It is one statement, for the reason that winnerFilters.load gives.
func (l *lookups) read(couponID int64, batch []*lookup) (orderIDs map[int64]int64, soldOut bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), lookupTimeout)
	defer cancel()
	q := `
		SELECT ` + coupon.StockColumn + ` AS stock, o.user_id, o.id FROM coupons c
		LEFT JOIN coupon_orders o ON o.coupon_id = ? AND o.user_id IN (` + placeholders("?", len(batch)) + `)
		WHERE c.id = ?`
	args := make([]any, 0, len(batch)+2)
	args = append(args, couponID)
	for _, u := range batch {
		args = append(args, u.userID)
	}
	var rows []struct {
		Stock  int
		UserID sql.NullInt64 `db:"user_id"` // NULL if no user has an order
		ID     sql.NullInt64
	}
	if err := l.db.SelectContext(ctx, &rows, q, append(args, couponID)...); err != nil {
		return nil, false, fmt.Errorf("select orders: %w", err)
	}
	orderIDs = make(map[int64]int64, len(rows))
	for _, row := range rows {
		orderIDs[row.UserID.Int64], soldOut = row.ID.Int64, row.Stock < 1
	}
	return orderIDs, soldOut, nil
}
