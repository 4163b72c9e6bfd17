package coupon

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/transaction"
)

// The verdicts on the key of a change, and what is said of one whose outcome is not
// known: whether repeating it is safe depends on who chose the key.
var (
	ErrKeyReused      = errors.New("coupon: key of another change")
	ErrKeyInProgress  = errors.New("coupon: change with this key in progress")
	ErrUnknown        = errors.New("coupon: outcome of a change unknown")
	ErrUnknownWithKey = errors.New("coupon: outcome of a change with a key unknown")
)

// Once returns a Store that makes a change at most once for each administrator and
// key. A change that is repeated has the result of the first one, whatever has
// happened to the coupon since. The error is ErrKeyReused if the key was that of
// another change, and ErrKeyInProgress while the first one has not ended. One that
// failed leaves its key unused.
//
// Keys are kept for at least a week. An empty key stands for one that no other
// change has.
func (s *Store) Once(key string) *Store { return &Store{s.db, key, s.changed} }

// A keyed change is one whose key is in the table if and only if it is committed.
type keyed struct {
	adminID      int64
	key, request [sha256.Size]byte
	chosen       bool // the key, by the client
}

func (s *Store) keyed(adminID int64, request []any) (keyed, error) {
	text, err := json.Marshal(request)
	key := s.key
	if key == "" {
		key = rand.Text()
	}
	return keyed{adminID, sha256.Sum256([]byte(key)), sha256.Sum256(text), s.key != ""}, err
}

// once makes a change in a transaction, unless its key has made it before, and
// returns the coupon after it. The request is what tells the change from others.
func (s *Store) once(ctx context.Context, adminID int64, request []any,
	change func(conn *sqlx.Conn) (Coupon, error)) (result Coupon, err error) {
	k, err := s.keyed(adminID, request)
	if err != nil {
		return Coupon{}, err
	}
	made, reads := false, []string{"", " FOR UPDATE NOWAIT"}
	if !k.chosen { // no other change has the key, but a dump may have the table: NOWAIT would not tell that
		reads = nil
	}
	// again after a conflict: in a Galera cluster a change conflicts with every claim at another node
	err = transaction.RunRetrying(ctx, s.db, func(conn *sqlx.Conn) (err error) {
		result, made, err = k.take(ctx, conn, reads)
		reads = []string{""} // the next attempt waits for this one, which the server may not have ended
		if made || err != nil {
			return err
		}
		if result, err = change(conn); err != nil {
			return err
		}
		return k.keep(ctx, conn, result)
	})
	if errors.Is(err, transaction.ErrUnknown) {
		result, err = k.readBack(ctx, s.db, err)
	} else if err == nil && !made {
		s.forgetOldKeys(ctx)
	}
	if err == nil && !made { // else the coupon may have been changed since
		s.changed(result)
	}
	return result, err
}

// take inserts the key, or returns the result of the change that was made with it, by
// reads with those locking clauses. The insert waits for a transaction that has the
// key, but NOWAIT tells before of one that may take long.
func (k keyed) take(ctx context.Context, conn *sqlx.Conn, reads []string) (first Coupon, made bool, err error) {
	for _, locking := range reads {
		first, made, err = k.find(ctx, conn, locking)
		switch {
		case locking != "" && transaction.HasNumber(err, transaction.LockNotAvailable, transaction.LockWaitTimeout):
			return Coupon{}, false, ErrKeyInProgress
		case made || err != nil:
			return first, made, err
		}
	}
	const q = `
		INSERT INTO coupon_change_keys (admin_id, key_hash, request, result, created_at)
		VALUES (?, ?, ?, '', UTC_TIMESTAMP(3))`
	_, err = conn.ExecContext(ctx, q, k.adminID, k.key[:], k.request[:])
	if transaction.HasNumber(err, transaction.DuplicateKey) {
		err = fmt.Errorf("%w: key inserted meanwhile", transaction.ErrConflict)
	}
	return Coupon{}, false, err
}

// find returns the result that the key has, or ErrKeyReused.
func (k keyed) find(ctx context.Context, db sqlx.QueryerContext, locking string) (first Coupon, made bool, err error) {
	var row struct{ Request, Result []byte }
	const q = `SELECT request, result FROM coupon_change_keys WHERE admin_id = ? AND key_hash = ?`
	err = sqlx.GetContext(ctx, db, &row, q+locking, k.adminID, k.key[:])
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Coupon{}, false, nil
	case err != nil:
		return Coupon{}, false, err
	case string(row.Request) != string(k.request[:]):
		return Coupon{}, false, ErrKeyReused
	}
	first.Rules = defaultRules // a result of a binary that knew no rules has none
	err = json.Unmarshal(row.Result, &first)
	return first, err == nil, err
}

func (k keyed) keep(ctx context.Context, conn *sqlx.Conn, result Coupon) error {
	text, err := json.Marshal(result)
	if err == nil {
		const q = `UPDATE coupon_change_keys SET result = ? WHERE admin_id = ? AND key_hash = ?`
		_, err = conn.ExecContext(ctx, q, text, k.adminID, k.key[:])
	}
	return err
}

// readBackTimeout bounds the read after a lost reply to COMMIT. It is not bounded by
// the caller's deadline, which most often is what lost the reply.
const readBackTimeout = time.Second

// readBack returns the result of a change whose COMMIT failed with cause, if the key
// is in the table. The read waits while the transaction is running. Without a row
// the outcome stays unknown: the server may not have received the COMMIT yet.
func (k keyed) readBack(ctx context.Context, db *sqlx.DB, cause error) (Coupon, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBackTimeout)
	defer cancel()
	first, made, err := k.find(ctx, db, " FOR UPDATE")
	if made || errors.Is(err, ErrKeyReused) {
		return first, err
	}
	unknown := ErrUnknown
	if k.chosen {
		unknown = ErrUnknownWithKey
	}
	return Coupon{}, errors.Join(fmt.Errorf("%w: %w", unknown, cause), err)
}

// forgetOldKeys deletes more keys than a change adds. It is not part of the change,
// whose result stands if it fails: the next one deletes them.
func (s *Store) forgetOldKeys(ctx context.Context) {
	const q = `
		DELETE FROM coupon_change_keys WHERE created_at < UTC_TIMESTAMP(3) - INTERVAL 7 DAY
		ORDER BY created_at LIMIT 10`
	_, _ = s.db.ExecContext(ctx, q)
}
