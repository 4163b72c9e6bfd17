package transaction_test

import (
	"errors"
	"testing"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/transaction"
)

// Its next user would go on with the transaction, or commit it.
func TestConnectionWithAnOpenTransactionIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	proxy, dsn := labtest.ProxiedMySQL(t, labtest.DSN(t))
	db := labtest.Open(t, dsn)
	for _, statement := range []string{"START TRANSACTION", "ROLLBACK"} {
		proxy.Refuse(statement, faultproxy.MySQLError(1317, "lost"))
		err := transaction.Run(t.Context(), db, func(*sqlx.Conn) error { return errors.New("refused") })
		if n := db.Stats().OpenConnections; err == nil || n != 0 {
			t.Errorf("%s is refused: %v, %d connections are kept", statement, err, n)
		}
	}
	if err := transaction.CheckWritable(t.Context(), db, "nonsense"); err == nil || db.Stats().OpenConnections != 0 {
		t.Errorf("a server that refuses a write: %v, %d connections are kept", err, db.Stats().OpenConnections)
	}
	const write = `INSERT INTO coupon_holds (expires_at, order_id, coupon_id) VALUES (NOW(), 1, 1)`
	check.NoError(t, transaction.CheckWritable(t.Context(), db, write))
	check.NoError(t, transaction.Run(t.Context(), db, func(*sqlx.Conn) error { return nil }))
	var rows int
	if check.NoError(t, db.Get(&rows, `SELECT COUNT(*) FROM coupon_holds`)); rows != 0 {
		t.Error("the transaction after a probe has committed what that has written")
	}
}
