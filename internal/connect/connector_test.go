package connect_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/transaction"
)

// proxied returns a proxy in front of the database, and a pool of one connection
// through it.
func proxied(t *testing.T, dsn string, options ...connect.Option) (*sqlx.DB, *faultproxy.Proxy) {
	t.Helper()
	proxy, dsn := labtest.ProxiedMySQL(t, dsn)
	cfg, err := mysql.ParseDSN(dsn)
	check.NoError(t, err)
	cfg.Timeout = 300 * time.Millisecond
	db, err := connect.MySQL(cfg.FormatDSN(), 1, options...)
	check.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db, proxy
}

// unknownVariable is how a server refuses to set a variable that it does not have.
var unknownVariable = faultproxy.MySQLError(1193, "Unknown system variable")

// The host of a client dies in a transaction: the server hears no more of it. On
// a server like MySQL, which has no timeout for idle transactions, the timeout
// for idle connections ends the transaction.
func TestRowLocksOfADeadHostEnd(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"MariaDB": false, "like MySQL": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := labtest.DSN(t)
			db, proxy := proxied(t, dsn, connect.ShortTransactions)
			if refused {
				proxy.Refuse("idle_transaction_timeout", unknownVariable)
			}
			healthy := labtest.Open(t, dsn)
			healthy.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (1, 1, 1, NOW())`)
			const lock = `SELECT id FROM coupon_orders WHERE id = 1 FOR UPDATE`
			tx := db.MustBegin()
			tx.MustExec(lock)
			proxy.Partition()
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if _, err := healthy.ExecContext(ctx, lock); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took < time.Second || took > 5*time.Second {
				t.Errorf("the lock ended after %s, want 2 to 5 s", took)
			}
			proxy.Heal()
			_ = tx.Rollback()
		})
	}
}

// The pool closes its idle connections before a server like MySQL does, and a
// server that refuses every timeout is used without.
func TestShortTransactionsFitTheServer(t *testing.T) {
	t.Parallel()
	db, proxy := proxied(t, labtest.EmptyDatabase(t, labtest.SharedMySQL(t)), connect.ShortTransactions)
	proxy.Refuse("idle_transaction_timeout", unknownVariable)
	conn, err := db.Connx(t.Context())
	check.NoError(t, err)
	var timeout int
	if err := conn.GetContext(t.Context(), &timeout, "SELECT @@SESSION.wait_timeout"); err != nil || timeout > 5 {
		t.Errorf("wait_timeout %d, %v", timeout, err)
	}
	_ = conn.Close()
	check.Eventually(t, "the pool has closed the idle connection",
		func() bool { return db.Stats().MaxIdleTimeClosed == 1 })

	proxy.Refuse("idle_transaction_timeout", unknownVariable)
	proxy.Refuse("SESSION wait_timeout", unknownVariable)
	proxy.Refuse("innodb_lock_wait_timeout", unknownVariable)
	if err := db.PingContext(t.Context()); err != nil {
		t.Errorf("without any timeout: %v", err)
	}
}

// The server refuses it for as long as it is open, also what an administrator has mended.
func TestConnectionThatLackedARightIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	server := labtest.MySQL(t, "--log-bin=log", "--server-id=1")
	admin := labtest.Open(t, server.DSN("mysql"))
	for _, statement := range []string{`CREATE DATABASE sale`, `CREATE TABLE sale.sold (n INT) ENGINE = InnoDB`,
		`CREATE USER service`, `GRANT ALL ON sale.* TO service`} {
		admin.MustExec(statement)
	}
	for refuse, mend := range map[string]string{
		`REVOKE INSERT ON sale.* FROM service`:   `GRANT ALL ON sale.* TO service`,
		`REVOKE SELECT ON sale.* FROM service`:   `GRANT ALL ON sale.* TO service`,
		`SET GLOBAL binlog_format = 'STATEMENT'`: `SET GLOBAL binlog_format = 'ROW'`,
	} {
		db := labtest.Open(t, strings.Replace(server.DSN("sale"), "root@", "service@", 1))
		db.SetMaxOpenConns(1)
		work := func() error {
			_, inserted := db.Exec(`INSERT INTO sold VALUES (1)`)
			return errors.Join(inserted, db.Get(new(int), `SELECT COUNT(*) FROM sold`))
		}
		admin.MustExec(refuse)
		if work() == nil {
			t.Errorf("%s: the server refuses nothing", refuse)
		}
		admin.MustExec(mend)
		_ = work() // the connection may not have been refused anything before
		if err := work(); err != nil {
			t.Errorf("after %s: %v", mend, err)
		}
	}
}

// As a report that is running makes an ALTER TABLE lock it.
func TestStatementDoesNotWaitForALockedTableForLong(t *testing.T) {
	t.Parallel()
	dsn := labtest.DSN(t)
	other, err := labtest.Open(t, dsn).Conn(t.Context())
	check.NoError(t, err)
	_, err = other.ExecContext(t.Context(), `LOCK TABLES coupon_orders WRITE`)
	check.NoError(t, err)
	_, err = labtest.Open(t, dsn, connect.BriefLockWaits).ExecContext(t.Context(), `DELETE FROM coupon_orders`)
	if !transaction.HasNumber(err, transaction.LockWaitTimeout) {
		t.Error(err)
	}
}

// database/sql opens connections for waiters without a deadline.
func TestSilentServerDoesNotBlockThePool(t *testing.T) {
	t.Parallel()
	db, proxy := proxied(t, labtest.EmptyDatabase(t, labtest.SharedMySQL(t)))
	conn, err := db.Connx(t.Context())
	check.NoError(t, err)
	waiting, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	waited := check.Begin(func() error { return db.PingContext(waiting) })
	check.Eventually(t, "a call waits for the connection", func() bool { return db.Stats().WaitCount == 1 })
	proxy.Partition()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "DO 1"); err == nil {
		t.Fatal("the partition drops nothing")
	}
	_ = conn.Close()
	select {
	case err := <-waited:
		if err == nil {
			t.Error("the waiting call has succeeded in the partition")
		}
	case <-waiting.Done():
		t.Error("the pool waits for a silent server")
	}
}
