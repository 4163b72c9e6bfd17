// Package mysqllock is two locks on MySQL 8 or MariaDB 10.11, and later
// versions of both. Rows has leases that expire by the server's clock, and
// fences that are stored beside the data they guard. Named uses GET_LOCK and
// has neither.
//
// Rows are as durable as the database. A failover to a replica that has not
// yet received a row frees the lock while its holder still works. A fence still
// stops that holder's writes if the data is on that replica too.
package mysqllock

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
)

// acquireTimeout bounds the one statement of a TryLock.
const acquireTimeout = 10 * time.Second

// Rows is a locker that keeps each lock in a row of table locks: owner, fence
// and expiry.
//
// A fence is the server's time in microseconds, or one more than the last fence
// if that is higher. So it rises even after its row has been deleted, and Rows
// deletes rows a day after they were last held.
//
// In a Galera cluster with several writers, set wsrep_sync_wait=7 in the DSN.
// Otherwise TryLock may refuse a key that was released at another node just
// before. The clocks of the nodes have to agree: expiry is by the clock of the
// node that is asked.
type Rows struct {
	db        *sqlx.DB
	abandoned driver.Abandoned

	mu   sync.Mutex
	late <-chan struct{} // closed when all statements whose callers have returned have ended
}

// Writes are what the locks ask of the server outside a transaction, by the name of the driver,
// without a row: see transaction.CheckWritable. Some proxies and clusters refuse these functions
// there, whatever the account's rights are.
var Writes = map[string][]string{
	"mysql": {`
		INSERT INTO locks (name, owner, fence, expires_at) SELECT name, owner, fence, expires_at FROM locks WHERE 1 = 0
		ON DUPLICATE KEY UPDATE fence = LAST_INSERT_ID(1)`},
	"getlock": {"SELECT GET_LOCK(" + probe + ", 0)", "SELECT RELEASE_LOCK(" + probe + ")"},
}

// probe is the name of a lock that no other connection requests.
const probe = "SHA2(CONCAT(DATABASE(), '/probe/', CONNECTION_ID()), 256)"

// NewRows returns a locker that uses db. The caller remains responsible for
// closing db.
func NewRows(db *sqlx.DB) *Rows {
	none := make(chan struct{})
	close(none)
	return &Rows{db: db, late: none}
}

// Drain implements lock.Drainer. It waits for the statements whose callers have returned before.
func (r *Rows) Drain(ctx context.Context) {
	r.mu.Lock()
	late := r.late
	r.mu.Unlock()
	select {
	case <-late:
	case <-ctx.Done():
	}
	r.abandoned.Drain(ctx)
}

// whenEnded calls release in the background, which waits for the end of a statement.
func (r *Rows) whenEnded(release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, ended := r.late, make(chan struct{})
	r.late = ended
	go func() {
		defer close(ended)
		release()
		<-before
	}()
}

// TryLock implements lock.Locker, in one statement. The end of ctx ends the wait
// for a connection. It does not interrupt the statement, because a server may
// execute an interrupted one nevertheless, and even after a later release.
// Instead TryLock returns, and releases the lease in the background once the
// statement has ended.
func (r *Rows) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	held := &rowLease{rows: r, key: key, owner: rand.Text(), requestedAt: time.Now()}
	held.expiry.Begin(held.requestedAt.Add(ttl))
	outcome := make(chan error, 1)
	go func() { outcome <- held.acquire(ctx, ttl) }()
	select {
	case err := <-outcome:
		return held.result(ctx, err)
	case <-ctx.Done():
		r.whenEnded(func() { held.releaseLate(ctx, outcome) })
		return nil, fmt.Errorf("mysqllock: acquire %s: %w", key, context.Cause(ctx))
	}
}
