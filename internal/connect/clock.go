package connect

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/transaction"
)

const (
	clockInterval = 5 * time.Second
	clockTimeout  = 2 * time.Second
	// maxSkew is how far the instance's clock may be off without a word.
	maxSkew = 2 * time.Second
)

// A Clock tells the database's time, which is the same for all instances. Between
// two measurements it goes on with the machine's monotonic clock, so a step of the
// instance's clock does not change it. Until the first measurement it tells the
// instance's time. It is safe for concurrent use.
type Clock struct {
	db       *sqlx.DB
	measured atomic.Pointer[measurement]
	warned   bool // by Follow
}

// A measurement is the time of both clocks at one moment.
type measurement struct {
	database, instance time.Time
	uncertainty        time.Duration
}

// NewClock returns a Clock of db's server.
func NewClock(db *sqlx.DB) *Clock { return &Clock{db: db} }

// Now returns the database's time, exact to half a round trip.
func (c *Clock) Now() time.Time {
	m := c.measured.Load()
	if m == nil {
		return time.Now()
	}
	return m.database.Add(time.Since(m.instance))
}

// Skew returns how much the instance's clock is ahead of the database's.
func (c *Clock) Skew() time.Duration {
	if c.measured.Load() == nil {
		return 0
	}
	return time.Now().Round(0).Sub(c.Now()) // Round strips the monotonic reading
}

// Measure asks the database for its time. A reply that was on its way for longer
// than the last one replaces it only after a while.
func (c *Clock) Measure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	conn, err := c.db.Connx(ctx) // connecting is no part of the round trip
	if err != nil {
		return err
	}
	defer conn.Close()
	m := &measurement{instance: time.Now()}
	if err := conn.GetContext(ctx, &m.database, `SELECT UTC_TIMESTAMP(6)`); err != nil {
		return err
	}
	m.uncertainty = time.Since(m.instance) / 2
	m.instance = m.instance.Add(m.uncertainty)
	if last := c.measured.Load(); last != nil && m.uncertainty > last.uncertainty+time.Since(last.instance)/100 {
		return nil
	}
	c.measured.Store(m)
	return nil
}

// Follow measures until ctx ends, and logs when the skew passes its bound. A
// measurement that fails leaves the last one in force.
func (c *Clock) Follow(ctx context.Context, log *slog.Logger) {
	for {
		if skew := c.Skew(); c.warned != (skew.Abs() > maxSkew) {
			c.warned = !c.warned
			if c.warned {
				log.Warn("this instance's clock differs from the database's, which decides", "skew", skew.String())
			} else {
				log.Info("this instance's clock agrees with the database's again", "skew", skew.String())
			}
		}
		if transaction.Pause(ctx, clockInterval) != nil {
			return
		}
		_ = c.Measure(ctx) // the probes log what is wrong with the database
	}
}
