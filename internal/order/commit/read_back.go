package commit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/order"
)

// readBackTimeout bounds the read after a lost commit reply. It is not bounded
// by the caller's deadline, which most often is what lost the reply.
const readBackTimeout = time.Second

// readBack finds out whether a commit of o's transaction that failed with cause
// was executed. It returns nil if o is found: then all orders of the transaction
// are committed. Otherwise the outcome stays unknown: the server may not have
// received the transaction yet, and in a cluster another node may be asked, which
// has not applied it yet.
func readBack(ctx context.Context, db *sqlx.DB, o order.Order, cause error) error {
	found, err := isCommitted(ctx, db, o)
	switch {
	case err != nil:
		return errors.Join(cause, fmt.Errorf("read back: %w", err))
	case found:
		return nil
	default:
		return fmt.Errorf("not found when read back: %w", cause)
	}
}

// isCommitted reports whether o is in the table. FOR UPDATE makes it block while
// o's transaction is running, where a plain read would miss a commit that takes
// its time. MySQL, MariaDB and TiDB all have it, proxies send it to the master,
// and it locks one row at most, until the statement ends. Another order may have
// o's id: see order.ErrIDTaken.
func isCommitted(ctx context.Context, db *sqlx.DB, o order.Order) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBackTimeout)
	defer cancel()
	column, key := o.Shard()
	q := `SELECT user_id FROM coupon_orders WHERE id = ? AND ` + column + ` = ? FOR UPDATE`
	var userID int64
	err := db.GetContext(ctx, &userID, q, o.ID, key)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return userID == o.UserID && err == nil, err
}
