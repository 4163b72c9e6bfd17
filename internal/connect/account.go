package connect

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/internal/transaction"
)

// An Account is what pools share that log in with the same account: the connections
// that the server allows it. A server that refuses another one makes them share those
// that there are: a pool takes idle ones of a pool that has more, and waits for its own.
type Account struct {
	mu      sync.Mutex
	pools   []*connector
	renewed atomic.Int64 // calls of Renew
}

// Renew makes the pools use no connection again that they have now. The address may lead to another
// server since: a former primary goes on to reply to those who only read, with what it had.
func (a *Account) Renew() { a.renewed.Add(1) }

func (a *Account) renewals() int64 {
	if a == nil {
		return 0
	}
	return a.renewed.Load()
}

// SharedBy makes the pool one of the pools of an account.
func SharedBy(account *Account) Option {
	return func(s *settings) { s.account = account }
}

func (a *Account) add(c *connector) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pools = append(a.pools, c)
}

const (
	regrow   = 5 * time.Second       // how long a pool makes do with what it has
	roomTime = 20 * time.Millisecond // in which the server notices a closed connection
)

// isLimit reports whether the server refuses a connection because there are too many.
func isLimit(err error) bool {
	return transaction.HasNumber(err, transaction.TooManyConnections, transaction.TooManyOfUser, transaction.UserLimit)
}

// makeDo is called when the server has refused a connection because there are too many.
// If the pool has connections, it returns ErrBadConn, for which database/sql waits for
// one of those. If it has none, it tries until another pool has one to spare.
func (c *connector) makeDo(ctx context.Context, refused error) (driver.Conn, error) {
	c.making.Lock()
	defer c.making.Unlock()
	for attempt := 0; ; attempt++ {
		own := c.connections()
		if !c.cfg.account.makeRoom(own) && own > 0 {
			makesDo := c.pool.Stats().MaxOpenConnections <= own
			c.shrink(own)
			if attempt > 0 || makesDo { // database/sql gives up after three ErrBadConn
				return nil, errors.Join(driver.ErrBadConn, refused)
			}
		}
		if transaction.Pause(ctx, roomTime) != nil {
			return nil, refused
		}
		if conn, err := c.open(ctx); !isLimit(err) {
			return conn, err
		}
	}
}

// connections returns how many connections the pool has, without those being opened.
func (c *connector) connections() int {
	return c.pool.Stats().OpenConnections - int(c.opening.Load())
}

// shrink lets the pool have no more than conns connections for some time.
func (c *connector) shrink(conns int) {
	c.pool.SetMaxOpenConns(max(1, conns))
	c.regrow.Reset(regrow)
}

func (c *connector) grow() {
	c.pool.SetMaxOpenConns(c.conns)
	c.pool.SetMaxIdleConns(c.conns)
}

// makeRoom closes an idle connection of a pool that has more than one more than own, or
// any if own is 0. It reports whether there was one.
func (a *Account) makeRoom(own int) bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, other := range a.pools {
		idle := other.pool.Stats().Idle
		if has := other.connections(); idle > 0 && (own == 0 || has > own+1) {
			other.pool.SetMaxIdleConns(idle - 1)
			other.grow()
			other.shrink(other.connections())
			return true
		}
	}
	return false
}
