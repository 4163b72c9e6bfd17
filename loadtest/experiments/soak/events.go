package soak

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
)

// events are what the service has told other systems, in a Redis that no fault strikes.
type events struct {
	server *lab.Redis
	redis  redis.UniversalClient
	last   string // that was read
	seen   map[transition]bool
	counts map[string]int // of the transitions in the database at the end, by kind
}

// A transition is what has become of an order.
type transition struct {
	ID   int64
	Kind string
}

func startEvents(l *lab.Lab) (e *events, err error) {
	e = &events{last: "-", seen: map[transition]bool{}, counts: map[string]int{}}
	if e.server, err = lab.StartRedis(l); err == nil {
		e.redis, err = connect.Redis(e.server.URL, 1)
	}
	return e, err
}

// read reads what was published since the last time.
func (e *events) read(ctx context.Context) error {
	const some = 1000
	for {
		found, err := e.redis.XRangeN(ctx, "flashsale:events", e.last, "+", some).Result()
		if err != nil {
			return err
		}
		for _, one := range found {
			var event struct {
				Kind   string
				Orders [][]any
			}
			text, _ := one.Values["body"].(string)
			if err := json.Unmarshal([]byte(text), &event); err != nil {
				return err
			}
			for _, o := range event.Orders {
				text, _ := o[0].(string)
				id, _ := strconv.ParseInt(text, 10, 64)
				e.seen[transition{id, event.Kind}] = true
			}
			e.last = "(" + one.ID
		}
		if len(found) < some {
			return nil
		}
	}
}

// publishLimit is how long an event may wait in its table when nothing fails.
const publishLimit = 30 * time.Second

// audit compares what was published with what has become of the orders, before the events
// of that are out, and after.
func (e *events) audit(ctx context.Context, m *market) error {
	before, err := transitions(ctx, m)
	if err != nil {
		return err
	}
	waiting, err := m.AwaitNone(ctx, publishLimit, "SELECT COUNT(*) FROM coupon_events")
	if err != nil {
		return err
	}
	if waiting > 0 {
		m.Violations.Add("I5: %d events wait %s after the sale", waiting, publishLimit)
	}
	if err := e.read(ctx); err != nil {
		return err
	}
	after, err := transitions(ctx, m)
	if err != nil {
		return err
	}
	m.log("%d transitions of orders, %d of them published", len(after), len(e.seen))
	for t := range after {
		e.counts[t.Kind]++
	}
	for t := range before {
		if !e.seen[t] {
			m.Violations.Add("I5: %+v was not published", t)
		}
	}
	for t := range e.seen {
		if !after[t] {
			m.Violations.Add("I5: %+v was published, and not committed", t)
		}
	}
	return nil
}

// transitions are those that the database knows.
func transitions(ctx context.Context, m *market) (map[transition]bool, error) {
	var all []transition
	err := m.DB.SelectContext(ctx, &all, `
		SELECT id, 'claimed' AS kind FROM coupon_orders
		UNION ALL SELECT id, 'claimed' FROM coupon_orders_ended
		UNION ALL SELECT id, 'used' FROM coupon_orders WHERE used_at IS NOT NULL
		UNION ALL SELECT id, how FROM coupon_orders_ended`)
	made := make(map[transition]bool, len(all))
	for _, t := range all {
		made[t] = true
	}
	return made, err
}
