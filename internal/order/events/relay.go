package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/transaction"
)

const (
	// lookPause is the time between two looks for events.
	lookPause = 200 * time.Millisecond
	// maxRows and maxBytes bound what is published at a time, so that a slow line
	// needs less than a timeout for it. A row may have more than maxBytes.
	maxRows  = 100
	maxBytes = 256 << 10
	// maxRounds bounds how often reads go on where the last one has ended. What a
	// transaction that has committed late has written before there waits for as long.
	maxRounds = 100
	// maxLen is about how many events the stream keeps.
	maxLen = 100_000
	// roundTimeout bounds the work on what is published at a time.
	roundTimeout = 5 * time.Second
	// lockTTL is how long events wait after the instance that published them has died.
	lockTTL = 10 * time.Second
)

// Config holds what a Relay needs. The pools are its own: claims do not wait for it.
type Config struct {
	DB     *sqlx.DB
	Redis  redis.UniversalClient // may be another server than that of the locks
	Stream string                // its key
	Locks  *lock.Client
	Lock   string // key of the lock that the instances share
}

// A Relay publishes events: it reads the oldest rows, adds each to the stream, and deletes
// them. It has no cursor, which would skip a transaction that commits late. An event is
// published at least once, and again if its deletion failed. What cannot be published
// waits in the table.
//
// The lock keeps several instances from publishing the same; no event is lost without it.
type Relay struct {
	Config
	ctx    context.Context // ends at Close
	cancel context.CancelFunc
	runs   sync.WaitGroup

	published, failures, oldest atomic.Int64
}

// NewRelay returns a Relay that publishes nothing before Run.
func NewRelay(c Config) *Relay {
	r := &Relay{Config: c}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Stats is what a Relay has done.
type Stats struct {
	Published, Failures int64         // events, and attempts to publish some
	Oldest              time.Duration // age of the oldest event in the table at the last look
}

// Stats returns what r has done by now.
func (r *Relay) Stats() Stats {
	return Stats{r.published.Load(), r.failures.Load(), time.Duration(r.oldest.Load())}
}

// Run publishes events until Close is called. It calls failed with the first error after
// a success.
func (r *Relay) Run(failed func(error)) {
	r.runs.Go(func() {
		var before error
		for transaction.Pause(r.ctx, lookPause) == nil {
			err := r.look()
			if errors.Is(err, lock.ErrLocked) {
				continue // another instance publishes, or tries to
			}
			if err != nil && r.ctx.Err() == nil {
				r.failures.Add(1)
				if before == nil {
					failed(err)
				}
			}
			before = err
		}
	})
}

// Close returns when nothing is being published.
func (r *Relay) Close() {
	r.cancel()
	r.runs.Wait()
}

// look publishes the events that wait. It returns lock.ErrLocked if another instance does.
func (r *Relay) look() error {
	waiting, err := r.read(r.ctx, 0, 1)
	if err != nil || len(waiting) == 0 {
		return err
	}
	return r.Locks.Do(r.ctx, r.Lock, lock.Options{TTL: lockTTL, Class: "events"},
		func(ctx context.Context, _ *lock.Lock) error { return r.publishAll(ctx, waiting[0].ID) })
}

// publishAll publishes the events from an id on. While a long snapshot keeps the rows that are
// deleted, a read from the first on takes longer than what it finds.
func (r *Relay) publishAll(ctx context.Context, from int64) error {
	for range maxRounds {
		last, more, err := r.publishSome(ctx, from)
		if err != nil || !more {
			return err
		}
		from = last
	}
	return nil
}

// publishSome publishes the oldest events from an id on. It returns the last that it has published,
// and whether it has read some that still wait, or as many as it may.
func (r *Relay) publishSome(ctx context.Context, from int64) (last int64, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	rows, err := r.read(ctx, from, maxRows)
	if err != nil || len(rows) == 0 {
		return 0, false, err
	}
	added, err := r.add(ctx, rows)
	r.published.Add(int64(len(added)))
	err = errors.Join(err, r.remove(context.WithoutCancel(ctx), added))
	if err != nil {
		return 0, false, err
	}
	return added[len(added)-1].ID, len(rows) == maxRows || len(added) < len(rows), nil
}

// A row is an event in the table.
type row struct {
	ID       int64
	CouponID *int64 `db:"coupon_id"` // nil in a row of an older binary
	Body     string
	Age      int64 // in microseconds
}

// read returns up to n of the oldest events from an id on.
func (r *Relay) read(ctx context.Context, from int64, n int) (rows []row, err error) {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	const q = `
		SELECT id, coupon_id, body, TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(3)) AS age
		FROM coupon_events WHERE id >= ? ORDER BY id LIMIT ?`
	if err := r.DB.SelectContext(ctx, &rows, q, from, n); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	oldest := time.Duration(0)
	if len(rows) > 0 {
		oldest = time.Duration(rows[0].Age) * time.Microsecond
	}
	r.oldest.Store(int64(oldest)) // once: a scrape in between would end the alert
	return rows, nil
}

// add adds events to the stream, as many as go at a time. It returns those that are
// there.
func (r *Relay) add(ctx context.Context, rows []row) (added []row, err error) {
	cmds, err := r.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for bytes := 0; len(rows) > p.Len() && (p.Len() == 0 || bytes < maxBytes); {
			body := rows[p.Len()].Body
			bytes += len(body)
			p.XAdd(ctx, &redis.XAddArgs{Stream: r.Stream, MaxLen: maxLen, Approx: true, Values: []any{"body", body}})
		}
		return nil
	})
	for i, cmd := range cmds {
		if cmd.(*redis.StringCmd).Val() != "" { // the id of the entry
			added = append(added, rows[i])
		}
	}
	if err != nil {
		return added, fmt.Errorf("add events to %s: %w", r.Stream, err)
	}
	return added, nil
}

// remove deletes events, each looked up by its id: a scan of a small table would wait for
// the rows of running transactions. Shards of vtgate without a sequence have the same ids.
func (r *Relay) remove(ctx context.Context, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	args := make([]any, 0, 2*len(rows))
	for _, one := range rows {
		args = append(args, one.ID, one.CouponID)
	}
	q := `DELETE e FROM coupon_events AS e FORCE INDEX (PRIMARY) WHERE ` +
		strings.Repeat(` OR id = ? AND coupon_id <=> ?`, len(rows))[4:]
	_, err := transaction.Statement{SQL: q, Args: args}.Exec(ctx, r.DB, "delete published events")
	return err
}
